// SPDX-License-Identifier: LGPL-2.1-or-later

module dalbe

go 1.19
