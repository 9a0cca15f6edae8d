"""``python -m nablasso`` is the command ``nablasso``."""

from nablasso.cli import main

if __name__ == "__main__":
    main()
