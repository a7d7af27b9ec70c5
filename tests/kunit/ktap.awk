# SPDX-License-Identifier: GPL-2.0-only
# Turns the KTAP of a guest's kernel log into plain lines: "ok - suite.test" or
# "not ok - suite.test", each failure preceded by what KUnit says about it.
# Fails if a test failed, was skipped or is missing, if there was no test, if the
# kernel complained, or if the guest failed (status, set with -v).

function report(good, name)
{
	print (good ? "ok - " : "not ok - ") name
	good ? passed++ : failed++
}

function end_suite()
{
	if (suite != "" && seen != planned)
		report(0, suite ".all_" planned "_tests_ran")
	suite = ""
}

{ sub(/^\[ *[0-9.]+\] ?/, "") }		# the time

/^    # Subtest: / { suite = $3; planned = -1; seen = 0; said = ""; next }
/^    1\.\.[0-9]+$/ { planned = substr($1, 4) + 0; next }

/^    (not )?ok [0-9]+ / {
	name = suite "." ($1 == "ok" ? $3 : $4)
	good = $1 == "ok" && !/# SKIP/
	if (!good)
		printf "%s", said
	report(good, name)
	seen++
	said = ""
	next
}

/^(not )?ok [0-9]+ / { end_suite(); said = ""; next }

/BUG:|WARNING:|UBSAN:|KASAN:|Oops|Call Trace|Kernel panic/ {
	report(0, "kernel_log: " $0)
	next
}

/^    # module:/ { next }
/^    # |^        / { said = said "#" $0 "\n" }	# KUnit explains a failure

END {
	end_suite()
	if (status != 0)
		report(0, "guest.exit_status_" status)
	if (passed + failed == 0)
		report(0, "kunit.any_test_ran")
	printf "# %d passed, %d failed\n", passed, failed
	exit failed > 0
}
