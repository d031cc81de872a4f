"""URLs of finance."""

from django.urls import path

from engagements.billing import views as billing_views
from engagements.finance import (
    bank_line_views,
    bank_views,
    charge_views,
    closing_views,
    control_views,
    credit_note_views,
    export_views,
    grant_views,
    ledger_views,
    payment_views,
    receivable_views,
    reversal_views,
    settlement_views,
    sole_approval_views,
    views,
    write_off_views,
)
from engagements.finance import invoice_views as invoices
from engagements.payouts import overpayment_views, refund_account_views, transfer_views
from engagements.settlements import list_views
from engagements.settlements.actions import FORMS

urlpatterns = [
    path("", views.overview, name="finance"),
    path("to-bill/", billing_views.to_bill, name="to-bill"),
    path("to-bill/issue/", billing_views.issue_drafts, name="drafts-issue"),
    path("to-bill/<slug:reference>/order/", billing_views.bill_order, name="order-bill"),
    path("to-bill/<slug:reference>/waive/", billing_views.waive_audit, name="audit-waive"),
    path("invoices/", invoices.invoice_list, name="invoices"),
    path("invoices/<int:pk>/", invoices.invoice_page, name="invoice"),
    path("invoices/<int:pk>/issue/", invoices.issue, name="invoice-issue"),
    path("invoices/<int:pk>/order/", invoices.purchase_order, name="invoice-purchase-order"),
    path("invoices/<int:pk>/xrechnung/", invoices.xrechnung, name="invoice-xrechnung"),
    path("invoices/<int:pk>/discard/", invoices.discard, name="invoice-discard"),
    path("invoices/<int:pk>/credit/", credit_note_views.credit, name="invoice-credit"),
    path("invoices/<int:pk>/issue-credit/", credit_note_views.issue, name="credit-note-issue"),
    path("invoices/<int:pk>/payment/", payment_views.record, name="payment-record"),
    path("invoices/<int:pk>/overpayment/", overpayment_views.show, name="overpayment"),
    path("invoices/<int:pk>/overpayment/move/", overpayment_views.move, name="overpayment-move"),
    path(
        "invoices/<int:pk>/overpayment/refund/",
        overpayment_views.propose_refund,
        name="overpayment-refund",
    ),
    *(
        path(
            f"overpayments/<int:pk>/{step}/",
            overpayment_views.send if step == "send" else overpayment_views.perform_step,
            {"step": step},
            name=f"overpayment-refund-{step}",
        )
        for step in overpayment_views.STEP_FORMS
    ),
    path("invoices/<int:pk>/write-off/", write_off_views.propose, name="write-off"),
    path("write-offs/<int:pk>/approve/", write_off_views.approve, name="write-off-approve"),
    path("write-offs/<int:pk>/void/", write_off_views.void, name="write-off-void"),
    path("controls/", control_views.show, name="controls"),
    path("people/", grant_views.finance_people, name="finance-people"),
    path("payments/", payment_views.payment_list, name="payments"),
    path("payments/<int:pk>/reverse/", reversal_views.propose, name="reversal-propose"),
    path("reversals/<int:pk>/", reversal_views.show, name="reversal"),
    path("reversals/<int:pk>/approve/", reversal_views.approve, name="reversal-approve"),
    path("reversals/<int:pk>/void/", reversal_views.void, name="reversal-void"),
    path("payments/<int:pk>/confirm/", payment_views.confirm, name="payment-confirm"),
    path("approve-alone/<str:subject>/", sole_approval_views.approve_alone, name="approve-alone"),
    path("bank/", bank_views.bank, name="bank"),
    path("bank/record/", bank_views.record, name="bank-record"),
    path("bank/imports/<int:pk>/", bank_views.import_page, name="bank-import"),
    path("bank/imports/<int:pk>/delete/", bank_views.delete, name="bank-delete"),
    path("bank/imports/<int:pk>/confirm/", bank_views.confirm, name="bank-import-confirm"),
    path("bank/imports/<int:pk>/keep/", bank_views.keep, name="bank-import-keep"),
    path("bank/lines/<int:pk>/", bank_line_views.line_page, name="bank-line"),
    path("bank/lines/<int:pk>/assign/", bank_line_views.assign, name="bank-assign"),
    path("bank/lines/<int:pk>/exchange/", bank_line_views.exchange, name="bank-exchange"),
    path("bank/lines/<int:pk>/match/", bank_line_views.match, name="bank-match"),
    path("bank/set-aside/", bank_line_views.set_aside_many, name="bank-set-aside-many"),
    path("bank/lines/<int:pk>/confirm/", bank_line_views.confirm_payment, name="bank-confirm"),
    path("bank/lines/<int:pk>/set-aside/", bank_line_views.set_aside, name="bank-set-aside"),
    path("charges/", charge_views.charge_list, name="charges"),
    path("charges/<int:pk>/", charge_views.charge_page, name="charge"),
    path("charges/<int:pk>/approve/", charge_views.approve, name="charge-approve"),
    path("charges/<int:pk>/bill/", charge_views.bill, name="charge-bill"),
    path("charges/<int:pk>/end/", charge_views.end, name="charge-end"),
    path(
        "engagements/<slug:reference>/maintenance/",
        charge_views.maintenance,
        name="charge-maintenance",
    ),
    path(
        "engagements/<slug:reference>/terminate/", charge_views.terminate, name="charge-terminate"
    ),
    path("receivables/", receivable_views.aged, name="receivables"),
    path("vat/", receivable_views.vat, name="vat"),
    path("customers/<int:pk>/statement/", receivable_views.statement, name="customer-statement"),
    path("customers/<int:pk>/", views.account, name="customer-account"),
    path("ledger/", ledger_views.trial_balance, name="ledger"),
    path(
        "ledger/accounts/<slug:code>/<slug:currency>/", ledger_views.account, name="ledger-account"
    ),
    path("ledger/engagements/<slug:reference>/", ledger_views.engagement, name="ledger-engagement"),
    path("ledger/entries/<int:pk>/", ledger_views.entry, name="ledger-entry"),
    path("ledger/risk/", views.money_at_risk, name="money-at-risk"),
    path("ledger/close/", closing_views.close, name="ledger-close"),
    path("ledger/close/<int:pk>/approve/", closing_views.approve, name="closing-approve"),
    path("ledger/close/<int:pk>/void/", closing_views.void, name="closing-void"),
    path("ledger/close/<int:pk>/reopen/", closing_views.reopen, name="closing-reopen"),
    path(
        "ledger/reopenings/<int:pk>/approve/",
        closing_views.approve_reopening,
        name="reopening-approve",
    ),
    path("ledger/reopenings/<int:pk>/void/", closing_views.void_reopening, name="reopening-void"),
    path("ledger/export/", export_views.export, name="ledger-export"),
    path(
        "engagements/<slug:reference>/settle/", settlement_views.propose, name="settlement-propose"
    ),
    path(
        "customers/<int:pk>/bank-account/", refund_account_views.bank_account, name="bank-account"
    ),
    path("settlements/", list_views.settlement_list, name="settlements"),
    path("settlements/file/", transfer_views.make, name="transfers"),
    path("settlements/files/<int:pk>/", transfer_views.file, name="transfer-file"),
    path("settlements/<int:pk>/", settlement_views.settlement_page, name="settlement"),
    *(
        path(
            f"settlements/<int:pk>/{step}/",
            settlement_views.approve if step == "approve" else settlement_views.perform_step,
            {"step": step},
            name=f"settlement-{step}",
        )
        for step in FORMS
    ),
]
