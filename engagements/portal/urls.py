"""URLs of the customer portal."""

from django.urls import include, path

from engagements.audit import report_views
from engagements.benchmark import urls as benchmark
from engagements.benchmark.models import Side
from engagements.comments import views as comments
from engagements.contracts import portal as contract
from engagements.contracts.time_box import views as time_box
from engagements.customers import portal as company
from engagements.disputes import views as measurement_disputes
from engagements.evidence import portal as evidence
from engagements.orders import portal as orders
from engagements.payouts import portal as refund_account
from engagements.portal import archive, ending, invoices
from engagements.portal import views as engagements
from engagements.runs import history_views as history
from engagements.runs import portal as runs
from engagements.settlements import portal as disputes

urlpatterns = [
    path("", engagements.engagement_list, name="portal"),
    path("invoices/", invoices.all_invoices, name="portal-all-invoices"),
    path("company/", company.own, name="portal-own-company"),
    path("company/<int:pk>/", company.company, name="portal-company"),
    path("company/<int:pk>/invite/", company.invite, name="portal-company-invite"),
    path(
        "company/<int:pk>/people/<int:membership>/",
        company.change_person,
        name="portal-company-person",
    ),
    path("<slug:reference>/", engagements.engagement_page, name="portal-engagement"),
    path("<slug:reference>/", include(benchmark.urls_of(Side.CUSTOMER))),
    path("<slug:reference>/", include(history.urls_of(Side.CUSTOMER))),
    path("<slug:reference>/comments/", comments.add_by_customer, name="portal-comment"),
    path("<slug:reference>/evidence/", evidence.show, name="portal-evidence"),
    path("<slug:reference>/evidence/add/", evidence.add, name="portal-evidence-add"),
    path(
        "<slug:reference>/evidence/<int:pk>/withdraw/",
        evidence.withdraw,
        name="portal-evidence-withdraw",
    ),
    path(
        "<slug:reference>/evidence/answers/<slug:question>/",
        evidence.answer,
        name="portal-evidence-answer",
    ),
    path("<slug:reference>/audit/", report_views.show_to_customer, name="portal-audit"),
    path("<slug:reference>/order/", orders.order_page, name="portal-audit-order"),
    path(
        "<slug:reference>/order/<int:number>/accept/",
        orders.accept,
        name="portal-audit-order-accept",
    ),
    path(
        "<slug:reference>/order/<int:number>/decline/",
        orders.decline,
        name="portal-audit-order-decline",
    ),
    path("<slug:reference>/settlement/dispute/", disputes.dispute, name="portal-dispute"),
    path(
        "<slug:reference>/settlement/dispute/withdraw/",
        disputes.withdraw,
        name="portal-dispute-withdraw",
    ),
    path(
        "<slug:reference>/refund-account/",
        refund_account.refund_account,
        name="portal-refund-account",
    ),
    path("<slug:reference>/end/", ending.end_for_cause, name="portal-end-for-cause"),
    path(
        "<slug:reference>/provided/<int:pk>/",
        time_box.provided_by_customer,
        name="portal-cooperation-provided",
    ),
    path("<slug:reference>/handover/", engagements.handover, name="portal-handover"),
    path(
        "<slug:reference>/handover/contest/",
        engagements.contest_handover,
        name="portal-handover-contest",
    ),
    path(
        "<slug:reference>/documents.zip", archive.documents_archive, name="portal-documents-archive"
    ),
    path("<slug:reference>/invoices/", invoices.invoices, name="portal-invoices"),
    path(
        "<slug:reference>/invoices/<int:pk>/xrechnung/",
        invoices.xrechnung,
        name="portal-xrechnung",
    ),
    path("<slug:reference>/contract/", contract.contract_page, name="portal-contract"),
    path(
        "<slug:reference>/contract/<int:number>/",
        contract.contract_page,
        name="portal-contract-version",
    ),
    path(
        "<slug:reference>/contract/<int:number>/accept/",
        contract.accept,
        name="portal-contract-accept",
    ),
    path(
        "<slug:reference>/contract/<int:number>/delegate/",
        contract.delegate,
        name="portal-contract-delegate",
    ),
    path(
        "<slug:reference>/contract/<int:number>/countersign/",
        contract.countersign,
        name="portal-contract-countersign",
    ),
    path(
        "<slug:reference>/contract/<int:number>/signed/<slug:digest>/",
        contract.countersigned_file,
        name="portal-contract-countersigned",
    ),
    path(
        "<slug:reference>/contract/<int:number>/decline/",
        contract.decline,
        name="portal-contract-decline",
    ),
    path("<slug:reference>/runs/<int:pk>/", runs.run_page, name="portal-run"),
    path(
        "<slug:reference>/runs/<int:pk>/dispute/",
        measurement_disputes.portal,
        name="portal-run-dispute",
    ),
    path("<slug:reference>/runs/<int:pk>/live/", runs.run_live, name="portal-run-live"),
    path(
        "<slug:reference>/runs/<int:pk>/charts/<slug:chart>-<slug:theme>.svg",
        runs.run_chart,
        name="portal-run-chart",
    ),
    path("<slug:reference>/runs/<int:pk>/<str:name>", runs.run_file, name="portal-run-file"),
]
