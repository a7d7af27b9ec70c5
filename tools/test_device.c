// SPDX-License-Identifier: GPL-2.0-only
/* Unit test of libdalbe.c's descriptor of the device; TAP on stdout. */
#include <stdio.h>

#include "libdalbe.h"

#undef DALBE_DEVICE
#define DALBE_DEVICE "/dev/zero"	/* there everywhere; it knows no ioctl: ENOTTY */
#include "libdalbe.c"

/* A daemon has closed all its descriptors, and the number is another file's by now. What that one
 * answers to our ioctl is not the device's answer: /dev/urandom says EINVAL.
 */
int main(void)
{
	bool found_again;
	int other;

	if (dalbe_open())
		return 1;
	close(atomic_load(&device));
	other = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	found_again = dalbe_set_goal(0, 1, 1, 0) == -1 && errno == ENOTTY &&
		      atomic_load(&device) != other;
	printf("%sok 1 - a device that was closed is opened again\n1..1\n",
	       found_again ? "" : "not ");
	return !found_again;
}
