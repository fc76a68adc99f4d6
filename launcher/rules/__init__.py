"""The rules: one file each, grouped by family; a file registers its function with its code.

Adding a rule is adding one file here and its fixtures in tests/rules/CODE/.
"""
