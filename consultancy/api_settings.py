"""Settings of the REST framework and of the API's schema."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {
    # The token first, so that a request without credentials is 401.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "engagements.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "engagements.api.authentication.HasScope",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_THROTTLE_CLASSES": ["engagements.api.throttles.AccountThrottle"],
    "DEFAULT_SCHEMA_CLASS": "engagements.api.schema.Schema",
    "EXCEPTION_HANDLER": "engagements.api.problems.respond",
    # `?format=` would be one more filter that lists do not know.
    "URL_FORMAT_OVERRIDE": None,
}
SCHEMA: dict[str, Any] = {
    "TITLE": "Twofold API",
    "DESCRIPTION": "Engagements, measurements and money of a kernel consultancy.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "ContractState": "engagements.contracts.models.ContractVersion.State",
        "EvidenceState": "engagements.evidence.models.Evidence.State",
        "InvoiceState": "engagements.billing.models.Invoice.State",
        "MeasuringParty": "engagements.api.run_resources.PARTIES",
        "MeasuringPlace": "engagements.contracts.models.ContractVersion.Place",
        "MilestoneState": "engagements.contracts.milestones.models.Milestone.State",
        "RunState": "benchmarks.models.Run.State",
        "DeliveryState": "engagements.notifications.webhooks.models.WebhookDelivery.State",
        "SettlementState": "engagements.settlements.models.Settlement.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "engagements.api.schema.add_problems",
    ],
}
