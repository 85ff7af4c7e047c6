"""The rules: one anti-pattern each, one file each, found through :mod:`kernlint.rules.registry`.

A rule states a condition, the proof that it holds, and the change that mends it. It contains no predicted gain: the
cost model times the workload before and after. To add a rule, add a module with a ``Rule`` class to the folder of its
category. What only the rules of one category need stands in that folder too; what several need stands here.
"""
