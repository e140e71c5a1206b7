"""Which path is answered by what, and how a failure looks there."""

import logging

from . import information, loads, metrics, native, openai
from .faults import Faults
from .health import health
from .job import RefusedError
from .naming import NOTICE, VERSION
from .service import Service
from .web import Request, Response, as_json

log = logging.getLogger(__name__)


class Routes:
    """All endpoints of one server; a handler for `web.Server`."""

    def __init__(self, service: Service, faults: Faults) -> None:
        self._service = service
        self._rejects = faults.of("reject")
        self._asked = 0

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        try:
            response = await (self._post(request) if request.method in ("POST", "PUT") else self._get(request))
        except RefusedError as failure:
            response = _refusal(request, failure)
        except (ValueError, TypeError, AttributeError, KeyError) as problem:
            response = _refusal(request, RefusedError(f"{type(problem).__name__}: {problem}"))
        log.info('"%s %s HTTP/1.1" %d', request.method, request.path, response.status)
        return response

    async def _post(self, request: Request) -> Response:
        match request.path:
            case "/generate":
                self._reject()
                return await native.generate(self._service, request)
            case "/v1/chat/completions":
                self._reject()
                return await openai.complete(self._service, request, openai.CHAT)
            case "/v1/completions":
                self._reject()
                return await openai.complete(self._service, request, openai.TEXT)
            case "/flush_cache":
                self._service.engine.tell("flush")
                return Response(body=b"Cache flushed.\n")
            case "/abort_request":
                self._service.engine.tell("abort", rid=request.json().get("rid", ""))
                return Response()
        return _not_found()

    def _reject(self) -> None:
        self._asked += 1
        for fault in self._rejects:
            if self._asked > fault.after:
                raise RefusedError("simulated rejection (PDLAUNCH_SIM_FAULT)", fault.status)

    async def _get(self, request: Request) -> Response:
        service = self._service
        match request.path:
            case "/health" | "/health_generate":
                return await health(service, request.path)
            case "/ready" | "/ping":
                return Response(200 if service.up and not service.leaving else 503)
            case "/metrics" if service.settings.switch("enable_metrics"):
                return Response(200, metrics.page(service).encode(), "text/plain; version=0.0.4; charset=utf-8")
            case "/server_info" | "/get_server_info":
                return as_json(await information.server_info(service))
        return self._get_json(request)

    def _get_json(self, request: Request) -> Response:
        service = self._service
        match request.path:
            case "/model_info" | "/get_model_info":
                return as_json(information.model_info(service))
            case "/v1/models":
                return as_json(openai.models(service))
            case "/v1/loads":
                return as_json(loads.loads(service, request.query.get("include")))
            case "/":
                return as_json({"simulator": NOTICE, "version": VERSION})
        return _not_found()


def _refusal(request: Request, failure: RefusedError) -> Response:
    log.error("[http_server] Error: %s", failure)
    return openai.error(failure) if request.path.startswith("/v1/") else native.error(failure)


def _not_found() -> Response:
    return as_json({"detail": "Not Found", "simulator": VERSION}, 404)
