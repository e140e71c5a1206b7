"""Which path is answered by what, and how a failure looks there."""

from . import metrics, native, openai
from .faults import Faults
from .naming import NOTICE, VERSION
from .native import BadRequestError, Service
from .web import Request, Response, as_json


class Routes:
    """All endpoints of one server; a callable for `web.Server`."""

    def __init__(self, service: Service, faults: Faults) -> None:
        self._service = service
        self._rejects = faults.of("reject")
        self._asked = 0

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        speaks_openai = request.path.startswith("/v1/")
        try:
            return await (self._post(request) if request.method in ("POST", "PUT") else self._get(request))
        except BadRequestError as failure:
            return openai.error(failure) if speaks_openai else native.error(failure)
        except (ValueError, TypeError, AttributeError) as problem:
            malformed = BadRequestError(f"{type(problem).__name__}: {problem}")
            return openai.error(malformed) if speaks_openai else native.error(malformed)

    async def _post(self, request: Request) -> Response:
        match request.path:
            case "/generate":
                self._reject()
                return await native.generate(self._service, request)
            case "/v1/chat/completions":
                self._reject()
                return await openai.complete(self._service, request, openai.CHAT, openai.chat_prompt)
            case "/v1/completions":
                self._reject()
                return await openai.complete(self._service, request, openai.TEXT, openai.text_prompt)
            case "/flush_cache":
                self._service.engine.tell("flush")
                return Response(200, b"Cache flushed.\n")
            case "/abort_request":
                self._service.engine.tell("abort", rid=request.json().get("rid", ""))
                return Response(200)
        return _not_found()

    def _reject(self) -> None:
        self._asked += 1
        for fault in self._rejects:
            if self._asked > fault.after:
                raise BadRequestError("simulated rejection (PDLAUNCH_SIM_FAULT)", fault.status)

    async def _get(self, request: Request) -> Response:  # noqa: PLR0911  # one line per path reads best
        service = self._service
        match request.path:
            case "/health" | "/health_generate":
                return await native.health(service, request.path)
            case "/ready" | "/ping":
                return Response(200 if service.up and not service.leaving else 503)
            case "/model_info" | "/get_model_info":
                return as_json(native.model_info(service))
            case "/server_info" | "/get_server_info":
                return as_json(await native.server_info(service))
            case "/v1/models":
                return as_json(openai.models(service))
            case "/v1/loads":
                return as_json(metrics.loads(service, request.query.get("include")))
            case "/metrics" if service.settings.switch("enable_metrics"):
                text = metrics.metrics(service)
                return Response(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
            case "/":
                return as_json({"simulator": NOTICE, "version": VERSION})
        return _not_found()


def _not_found() -> Response:
    return as_json({"detail": "Not Found", "simulator": VERSION}, 404)
