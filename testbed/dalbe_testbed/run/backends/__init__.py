# SPDX-License-Identifier: GPL-2.0-only
"""Where a run takes place: kernels of three kinds behind one interface.

    uml    a time-travel User Mode Linux: virtual time, repeats itself, no root (default)
    host   the kernel of this machine: real time, root, one run at a time
    qemu   a distribution's kernel in a virtual machine: host's script in there

docs/backends.md says what their kernels differ in.
"""

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.run.backends.base import Backend
from dalbe_testbed.run.backends.host import Host
from dalbe_testbed.run.backends.qemu import Qemu
from dalbe_testbed.run.backends.uml import Uml

_CHOOSE = {"uml": Uml.choose, "host": Host.choose, "qemu": Qemu.choose}
NAMES = tuple(_CHOOSE)


def choose(name: str, kernel: str | None = None) -> Backend:
    """Return a backend that is ready to run.

    kernel: for uml the build directory of a guest kernel (None: the plain one, built now if need
    be), for qemu a release out of /boot (None: the newest 6.12). Raises TestbedError if there is
    no such backend or kernel, or this machine cannot do it.
    """
    if name not in _CHOOSE:
        raise TestbedError(f"--backend {name}: there is no such backend; say {', '.join(NAMES)}")
    return _CHOOSE[name](kernel)
