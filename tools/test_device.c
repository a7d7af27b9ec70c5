// SPDX-License-Identifier: GPL-2.0-only
/* Unit test of libdalbe.c's descriptor of the device; TAP on stdout. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "libdalbe.h"

static int first_ioctl(int fd, unsigned long command, void *arg);
static int (*next_ioctl)(int fd, unsigned long command, void *arg);
static int device_fstat(int fd, struct stat *st);
static bool reopen_at_fstat;

static int device_ioctl(int fd, unsigned long command, void *arg)
{
	int (*now)(int fd, unsigned long command, void *arg) = next_ioctl;

	next_ioctl = NULL;
	return now ? now(fd, command, arg) : ioctl(fd, command, arg);
}

#define ioctl(fd, command, arg)	device_ioctl(fd, command, arg)
#define fstat(fd, st)		device_fstat(fd, st)
#undef DALBE_DEVICE
#define DALBE_DEVICE "/dev/zero"	/* there everywhere; it knows no ioctl: ENOTTY */
#include "libdalbe.c"
#undef fstat

/* Meanwhile another thread has seen that the device was closed, and has opened it again. */
static int first_ioctl(int fd, unsigned long command, void *arg)
{
	(void)fd;
	(void)command;
	(void)arg;
	dalbe_close();
	dalbe_open();
	errno = EBADF;
	return -1;
}

/* The device was closed; then another thread opens it again, under the same number. */
static int device_fstat(int fd, struct stat *st)
{
	if (!reopen_at_fstat)
		return fstat(fd, st);
	reopen_at_fstat = false;
	dalbe_close();
	dalbe_open();
	errno = EBADF;
	return -1;
}

static bool report(int number, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, what);
	return good;
}

int main(void)
{
	int other, number;
	bool good;

	if (dalbe_open())
		return 1;
	/* A daemon has closed all its descriptors, and the number is another file's by now. What
	 * that one answers to our ioctl is not the device's answer: /dev/urandom says EINVAL.
	 */
	close(device_fd(atomic_load(&device)));
	other = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	good = report(1, dalbe_set_goal(0, 1, 1, 0) == -1 && errno == ENOTTY &&
		      device_fd(atomic_load(&device)) != other,
		      "a device that was closed is opened again");
	next_ioctl = first_ioctl;
	good &= report(2, dalbe_set_goal(0, 1, 1, 0) == -1 && errno == ENOTTY,
		       "after another thread has opened it again, the call is made again");
	number = device_fd(atomic_load(&device));
	reopen_at_fstat = true;
	good &= report(3, dalbe_set_goal(0, 1, 1, 0) == -1 && errno == ENOTTY &&
		       device_fd(atomic_load(&device)) == number,
		       "a device that another thread has opened under the same number is kept");
	puts("1..3");
	return !good;
}
