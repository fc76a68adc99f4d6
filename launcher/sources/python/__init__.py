"""Python files that start engines, read from their syntax trees and never executed."""
