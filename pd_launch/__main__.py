"""``python -m pd_launch``: the same as the console command."""

from pd_launch.launcher.cli import main

if __name__ == "__main__":
    main()
