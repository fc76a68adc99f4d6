"""``python -m pd_launch`` and the console command."""

from pd_launch.launcher.early import collect_seldom, guard

guard()


def main() -> None:
    """Run the command line."""
    collect_seldom()
    from pd_launch.launcher.cli import main as run

    run()


if __name__ == "__main__":
    main()
