"""`python -m launcher.simulator`: read, fork, serve; bad input ends in one line and exit code 2."""

import asyncio
import logging
import os
import sys

from .arguments import parse
from .engine import Engine, log_format, spawn
from .environ import Environment
from .faults import Faults
from .naming import NOTICE
from .server import Running


def main() -> int:
    """Run one simulated server; returns its exit code."""
    settings = parse(sys.argv[1:])
    try:
        environment = Environment.read(os.environ)
        faults = Faults.read(environment, settings.role)
    except ValueError as error:
        sys.stderr.write(f"simulator: error: {error}\n")
        return 2
    handler = logging.StreamHandler()
    handler.setFormatter(log_format())
    logging.basicConfig(level=settings.text("log_level").upper(), handlers=[handler])
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    log = logging.getLogger(__name__)
    log.info("%s", NOTICE)
    log.info("server_args=%s faults=%s", settings.values, [fault._asdict() for fault in faults.all])
    for warning in environment.warnings:
        log.warning("%s", warning)
    pid, link = spawn(settings, environment, faults)

    async def serve() -> int:
        return await Running(settings, environment, faults, Engine(pid, link)).serve()

    return asyncio.run(serve())


sys.exit(main())
