"""URLs of engagements; portal and finance have their own modules."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from engagements.administration import staff_views
from engagements.api import token_views as tokens
from engagements.api import webhook_views as webhooks
from engagements.audit import report_views
from engagements.audit import views as audit
from engagements.benchmark import urls as benchmark
from engagements.benchmark.models import Side
from engagements.catalogue import views as catalogue
from engagements.comments import views as comments
from engagements.contracts import amendment_views, draft_views
from engagements.contracts import views as contract
from engagements.contracts.clauses import views as clauses
from engagements.contracts.milestones import views as milestone_views
from engagements.contracts.time_box import views as time
from engagements.customers import views as customers
from engagements.disputes import views as disputes
from engagements.documents import views as documents
from engagements.evidence import views as evidence
from engagements.notifications import views as notifications
from engagements.orders import views as orders
from engagements.pitch import views as pitch
from engagements.portal import verify
from engagements.runners import views as runners
from engagements.runs import history_views as history
from engagements.runs import profile_views as profiles
from engagements.runs import views as runs
from engagements.search import views as search
from engagements.workbench import board, engagement, home

on_one_engagement: list[URLPattern | URLResolver] = [
    path("", engagement.show, name="engagement"),
    path("comments/", comments.add, name="comment"),
    path("edit/", engagement.edit, name="engagement-edit"),
    path("close/", engagement.close, name="engagement-close"),
    path("cancel/", engagement.cancel, name="engagement-cancel"),
    path("documents/<int:pk>/again/", engagement.document_again, name="document-again"),
    path("audit/", audit.show, name="engagement-audit"),
    path("audit/start/", audit.start, name="audit-start"),
    path("audit/findings/<slug:check>/", audit.record, name="audit-finding"),
    path("audit/findings/<slug:check>/override/", audit.override, name="audit-override"),
    path(
        "audit/findings/<slug:check>/override/decide/",
        audit.decide_override,
        name="audit-override-decide",
    ),
    path("audit/deliver/", audit.deliver, name="audit-deliver"),
    path("audit/order/", orders.show, name="audit-order"),
    path("audit/order/offer/", orders.offer, name="audit-order-offer"),
    path("audit/order/<int:number>/withdraw/", orders.withdraw, name="audit-order-withdraw"),
    path("audit/draft/", draft_views.draft_from_audit, name="audit-draft"),
    path("audit/report/", report_views.show, name="audit-report"),
    path("audit/pictures/<slug:check>-<slug:theme>.svg", report_views.chart, name="audit-picture"),
    path("evidence/", evidence.show, name="engagement-evidence"),
    path("evidence/add/", evidence.add, name="evidence-add"),
    path("evidence/live/", evidence.live, name="evidence-live"),
    path("evidence/token/", evidence.token, name="evidence-token"),
    path("evidence/<int:pk>/file/", evidence.file, name="evidence-file"),
    path("evidence/<int:pk>/withdraw/", evidence.withdraw, name="evidence-withdraw"),
    path("evidence/<int:pk>/again/", evidence.again, name="evidence-again"),
    path("evidence/<int:pk>/candidate/", evidence.assign, name="evidence-assign"),
    path("evidence/answers/<slug:question>/", evidence.answer, name="evidence-answer"),
    path("workbench/", include("engagements.workbench.profile.urls")),
    *benchmark.urls_of(Side.CONSULTANCY),
    path("contract/", contract.show, name="engagement-contract"),
    path("contract/terms/", draft_views.terms, name="contract-terms"),
    path("contract/benchmark/", contract.seal_benchmark, name="contract-benchmark"),
    path("contract/offer/", contract.offer, name="contract-offer"),
    path("contract/accept/", contract.accept, name="contract-accept"),
    path("contract/discard/", draft_views.discard, name="contract-discard"),
    path("contract/hand-over/", milestone_views.hand_over, name="contract-hand-over"),
    path("contract/amend/", amendment_views.amend, name="contract-amend"),
    path("contract/withdraw/", contract.withdraw, name="contract-withdraw"),
    path("time/", time.show, name="engagement-time"),
    path("time/add/", time.add, name="time-add"),
    path("time/<int:pk>/remove/", time.remove, name="time-remove"),
    path("time/ask/", time.ask, name="cooperation-ask"),
    path("time/<int:pk>/provided/", time.provided, name="cooperation-provided"),
    *history.urls_of(Side.CONSULTANCY),
    path("runs/new/", runs.request, name="run-request"),
    path("runs/notice/", runs.give_notice, name="run-notice"),
    path("runs/<int:pk>/", runs.show, name="run"),
    path("runs/<int:pk>/final/", runs.declare_final, name="run-final"),
    path("runs/<int:pk>/cancel/", runs.cancel, name="run-cancel"),
    path("runs/<int:pk>/live/", runs.live, name="run-live"),
    path("runs/<int:pk>/profiles/", profiles.show, name="run-profiles"),
    path("runs/<int:pk>/profiles/add/", profiles.add, name="run-profile-add"),
    path("runs/<int:pk>/dispute/", disputes.workbench, name="run-dispute"),
    path("runs/<int:pk>/dispute/finance/", disputes.finance, name="run-dispute-finance"),
    path(
        "runs/<int:pk>/dispute/files/<int:message>/", disputes.attachment, name="run-dispute-file"
    ),
    path("runs/<int:pk>/record.json", runs.record, name="run-record"),
    path("runs/<int:pk>/bundle.zip", runs.bundle, name="run-bundle"),
    path("runs/<int:pk>/pictures/<slug:name>-<slug:theme>.svg", runs.picture, name="run-picture"),
]

of_the_catalogue: list[URLPattern | URLResolver] = [
    path("", catalogue.show, name="catalogue"),
    path("pictures/<slug:name>-<slug:theme>.svg", catalogue.picture, name="catalogue-picture"),
    path("keys/<slug:key_id>.pub", catalogue.public_key, name="catalogue-key"),
    path("<slug:name>/", catalogue.operator, name="catalogue-operator"),
    path(
        "<slug:name>/<slug:preset>/template-<slug:language>",
        catalogue.template,
        name="catalogue-template",
    ),
    path("<slug:name>/<str:record>.record.json", catalogue.record, name="catalogue-record"),
    path("<slug:name>/<str:record>.source.txt", catalogue.source, name="catalogue-source"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("engagements/", board.board, name="board"),
    path("engagements/filters/", board.save_filter, name="board-filter-save"),
    path("engagements/filters/<int:pk>/", board.delete_filter, name="board-filter-delete"),
    path("engagements/new/", board.open_new, name="engagement-new"),
    path("engagements/<slug:reference>/", include(on_one_engagement)),
    path("customers/", customers.customer_list, name="customers"),
    path("customers/new/", customers.new, name="customer-new"),
    path("customers/<int:pk>/", customers.show, name="customer"),
    path("customers/<int:pk>/invite/", customers.invite, name="customer-invite"),
    path(
        "customers/<int:pk>/people/<int:membership>/",
        customers.change_person,
        name="customer-person",
    ),
    path("catalogue/", include(of_the_catalogue)),
    path("clauses/", clauses.show, name="clauses"),
    path("documents/<int:pk>/", documents.show, name="document"),
    path("badges/<str:token>.svg", history.badge, name="run-badge"),
    path("search/", search.show, name="search"),
    path("session/", search.session, name="session"),
    path("signed-in/", search.signed_in, name="signed-in"),
    path("staff/", staff_views.people, name="staff"),
    path("staff/<int:pk>/", staff_views.change, name="staff-change"),
    path("notifications/", notifications.centre, name="notifications"),
    path("notifications/read/", notifications.read_all, name="notifications-read"),
    path("notifications/settings/", notifications.settings_page, name="notification-settings"),
    path("notifications/<int:pk>/", notifications.open_one, name="notification-open"),
    path("pitch/", pitch.show, name="pitch"),
    path("verify/", verify.show, name="verify"),
    path("verify/document/", verify.document, name="verify-document"),
    path("verify/document/file/", verify.file, name="verify-file"),
    path("verify/document/certificate.pem", verify.certificate, name="verify-certificate"),
    path("keys/<slug:key_id>.pub", verify.public_key, name="public-key"),
    path("api/v1/", include("engagements.api.urls")),
    path("tokens/", tokens.show, name="tokens"),
    path("tokens/new/", tokens.create, name="token-create"),
    path("tokens/<int:pk>/revoke/", tokens.revoke, name="token-revoke"),
    path("runners/", runners.show, name="runners"),
    path("runners/new/", runners.register, name="runner-register"),
    path("runners/<int:pk>/token/", runners.renew_token, name="runner-token"),
    path("runners/<int:pk>/retire/", runners.retire, name="runner-retire"),
    path("runners/<int:pk>/revoke/", runners.revoke, name="runner-revoke"),
    path("webhooks/", webhooks.show, name="webhooks"),
    path("webhooks/new/", webhooks.create, name="webhook-create"),
    path("webhooks/<int:pk>/remove/", webhooks.remove, name="webhook-remove"),
    path("webhooks/deliveries/<int:pk>/replay/", webhooks.replay, name="webhook-replay"),
    path("tokens/accounts/new/", tokens.create_account, name="service-account-create"),
    path("tokens/accounts/<int:pk>/close/", tokens.close_account, name="service-account-close"),
    path("portal/", include("engagements.portal.urls")),
    path("finance/", include("engagements.finance.urls")),
]
if settings.DEBUG:
    urlpatterns.append(path("styleguide/", home.styleguide, name="styleguide"))
