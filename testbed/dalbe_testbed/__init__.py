# SPDX-License-Identifier: GPL-2.0-only
"""Runs dalbe's experiments in a time-travel guest and analyses what they did.

The way of a run through the package, one idea per module:

    experiment  what an experiment file may say
    scenario    from an experiment to the guest's schedule of commands
    guest       boot a guest, follow its progress
    capture     from two packet captures to rates, queueing delays and drops
    trace       from the module's tracepoint to a table of w and G
    link        the proof that the link was what the experiment says
    runner      all of that for one run: a directory with a manifest and tables
    shares      who had which share of the bottleneck, contended and alone
    demo, cell  the two experiments that the project is judged by
    report      a table for the terminal
    plots       pictures
    cli         the command line
"""
