"""``python -m launcher`` is the command `pdlaunch`."""

from launcher.cli import main

if __name__ == "__main__":
    main()
