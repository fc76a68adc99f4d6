"""Builds of vLLM and vllm-ascend whose own files are read: folders, wheels, source packages, what is installed.

They are read without importing or running anything, and what they say is exact for that build. A caller wants
:func:`read_build` (a path), :func:`installed_build` (this machine), and :func:`target_of`. Importing this package
imports no reader: that happens when something is read that is not in the cache.
"""

from pd_launch.launcher.builds.build import Build, BuildError, build_of, read_build, target_of
from pd_launch.launcher.builds.installed import installed_build

__all__ = ["Build", "BuildError", "build_of", "installed_build", "read_build", "target_of"]
