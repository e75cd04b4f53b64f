"""The language: query text -> syntax tree with positions, and back.

This package does not know the catalog. Law: `parse(print_statement(tree)) == tree`.

>>> print_statement(parse("select r.depth from River r [now] where r.depth > 10"))
'SELECT r.depth FROM River [NOW] r WHERE r.depth > 10'
"""

from nilometer.language import ast
from nilometer.language.parser import parse, parse_expression, parse_script
from nilometer.language.printer import print_expression, print_statement

__all__ = ["ast", "parse", "parse_expression", "parse_script", "print_expression", "print_statement"]
