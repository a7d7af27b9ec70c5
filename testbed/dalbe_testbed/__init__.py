# SPDX-License-Identifier: GPL-2.0-only
"""Runs dalbe's experiments in a guest and analyses what they did.

The way of a run through the package, one idea per module:

    experiment  what an experiment file may say (explain: what is wrong with one; red: one queue)
    scenario    from an experiment to the guest's schedule of commands
    backends    where it takes place: a time-travel guest, this machine, a stock kernel in qemu
    capture     from packet captures to rates, queueing delays, drops and marks
    trace       from the module's tracepoints to tables of w and of CDG's rounds
    tcpinfo     from the sampler's lines to a table of cwnd, srtt, G and w
    link        the proof that the link was what the experiment says
    flentfile   a run as flent opens it
    runner      all of that for one run: a directory with a manifest and tables
    digest      what tells one version of a file from another
    batch       several runs at once
    shares      who had which share of the bottleneck, contended and alone
    demo        the experiment that the project is judged by; report: its table, plots: its pictures

and of a reproduction, which is many runs:

    sweep       which runs: an experiment, its axes, the seeds
    workflow    make those that are missing, by Snakemake
    results     what they measured
    stats       what repetitions say about a mean
    paper       what the paper measured
    reproduction  findings: the paper's values beside ours, ablations, verdicts
    figures, html  pictures, and the report

    cli, cli_sweep  the command line
"""
