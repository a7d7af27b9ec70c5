/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of tests that reports in TAP ("ok - name", "not ok - name").
 *
 * A test is a function that returns when it has passed. CHECK() and its kin
 * leave it at the first thing that is wrong, through longjmp(): a test needs no
 * error paths, what it opened is closed for it, and its children are killed.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define __noreturn	__attribute__((__noreturn__))
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))

struct test {
	const char *name;	/* a sentence about the module, as reported */
	void (*run)(void);
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A table ends with an entry without a name. */
unsigned int harness_run(const struct test *const tables[], size_t count,
			 const char *only, void (*prepare)(void), void (*finish)(void));

void harness_note(const char *fmt, ...) __printf(1, 2);
void harness_fail(const char *file, int line, const char *fmt, ...)
	__noreturn __printf(3, 4);
void harness_skip(const char *why) __noreturn;

/* Run part of a test in a child process; what fails there fails here, when it has ended. */
void harness_in_child(void (*run)(const void *arg), const void *arg);
pid_t harness_start_child(void (*run)(const void *arg), const void *arg);
void harness_end_child(pid_t pid);

/* A check that fails inside a loop does not say which turn it
 * was: name the turn here, "" after the loop.
 */
void harness_turn(const char *fmt, ...) __printf(1, 2);

#define FAIL(...) harness_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			FAIL("%s", #cond);				\
	} while (0)

/* Integers; each is evaluated once. */
#define CHECK_OP(a, op, b)						\
	do {								\
		long long a_ = (a), b_ = (b);				\
									\
		if (!(a_ op b_))					\
			FAIL("%s is %lld, to be %s %s (%lld)",		\
			     #a, a_, #op, #b, b_);			\
	} while (0)
#define CHECK_EQ(a, b) CHECK_OP(a, ==, b)

/* A system call that succeeds. Its value is that of the expression. */
#define TRY(call)							\
	({								\
		__typeof__(call) r_ = (call);				\
									\
		if (r_ == (__typeof__(r_))-1)				\
			FAIL("%s: %s", #call, harness_errno(errno));	\
		r_;							\
	})

/* A system call that fails with @err. */
#define CHECK_ERRNO(call, err)						\
	do {								\
		int e_ = (call) == -1 ? errno : 0, wanted_ = (err);	\
									\
		if (e_ != wanted_)					\
			FAIL("%s: %s, expected %s", #call,		\
			     harness_errno(e_),				\
			     harness_errno(wanted_));			\
	} while (0)

const char *harness_errno(int err);

#endif /* HARNESS_H */
