/* SPDX-License-Identifier: GPL-2.0-only */
/* The one place that says which version this is: module, tools, DKMS and packages read it. */
#define DALBE_VERSION "0.1.0"
