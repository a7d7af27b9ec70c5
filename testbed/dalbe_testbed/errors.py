# SPDX-License-Identifier: GPL-2.0-only
"""The package's one exception: a message in one line that says what to do next."""


class TestbedError(Exception):
    """Something the user can act on; the command line prints it and exits with 1."""

    __test__ = False  # not a test class, whatever pytest thinks of the name
