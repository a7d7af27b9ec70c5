# SPDX-License-Identifier: GPL-2.0-only
"""Runs dalbe's experiments in a guest and analyses what they did.

Sub-packages, each importing only from those above it:

    plan     experiment and link: what an experiment file may say; sweep and sample: which runs to
             make; schedule: what the seed decides
    papers   what the papers state: cdg, framework; numeric: the framework's own simulation
    reduce   from a guest's records to tables: capture, trace, tcpinfo; proof: the link was as said
    run      runner: one run, or several; backends: where it takes place; workflow: a sweep's
    study    a file per kind of sweep: what is measured, required and drawn; results: the runs that
             are there; engine and declarations carry studies out; stats: what repetitions say
    report   the HTML report
    cli      the command line

errors, paths, charts and purecode (the module's pure C code as a library) import none of these.
"""
