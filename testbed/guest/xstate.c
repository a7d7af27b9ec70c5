// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD for the guest kernel's process: ptrace() on processors with AMX.
 *
 * User Mode Linux up to 6.12 saves and restores the vector registers of its processes in
 * a buffer of 2696 bytes, enough for AVX-512. Where a processor has AMX (Intel's since
 * 2023) its state is 11008 bytes, the host refuses to restore less than all of it
 * (EFAULT), and the guest panics at its first process: "ptrace set fp regs failed,
 * errno = 14". So the host gets a buffer with room for everything.
 *
 * The rest is zero, as the host returned it: AMX has to be asked for (ARCH_REQ_XCOMP_PERM),
 * and User Mode Linux does not know how.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define XSTATE_MAX	65536	/* bytes; the most that any processor has is 11008 */

typedef long ptrace_fn(enum __ptrace_request request, ...);

static long xstate(ptrace_fn *next, enum __ptrace_request request, pid_t pid,
		   struct iovec *theirs)
{
	static unsigned char all[XSTATE_MAX] __attribute__((aligned(64)));
	struct iovec whole = { .iov_base = all, .iov_len = sizeof(all) };
	size_t len = theirs->iov_len < sizeof(all) ? theirs->iov_len : sizeof(all);
	long result;

	if (request == PTRACE_SETREGSET)
		memcpy(all, theirs->iov_base, len);
	result = next(request, pid, NT_X86_XSTATE, &whole);
	if (result < 0)
		return result;
	if (request == PTRACE_GETREGSET)
		memcpy(theirs->iov_base, all, len);
	theirs->iov_len = whole.iov_len < len ? whole.iov_len : len;
	return result;
}

long ptrace(enum __ptrace_request request, ...)
{
	ptrace_fn *next = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	void *address, *data;
	va_list arguments;
	pid_t pid;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) &&
	    address == (void *)NT_X86_XSTATE)
		return xstate(next, request, pid, data);
	return next(request, pid, address, data);
}
