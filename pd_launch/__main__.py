"""``python -m pd_launch`` and the console command."""

from pd_launch.launcher.early import guard

guard()


def main() -> None:
    """Run the command line."""
    from pd_launch.launcher.cli import main as run

    run()


if __name__ == "__main__":
    main()
