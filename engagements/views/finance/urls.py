"""Addresses of finance."""

from django.urls import path

from engagements.views.finance import (
    accounts,
    bank,
    bank_accounts,
    billing,
    exports,
    invoices,
    ledger,
    overpayments,
    overview,
    pay_back_steps,
    pay_backs,
    payment_list,
    payments,
    periods,
    risk,
    settlement_list,
    settlements,
    transfers,
)
from engagements.views.finance.words import FORMS

urlpatterns = [
    path("", overview.overview, name="finance"),
    path("to-bill/", billing.to_bill, name="to-bill"),
    path("to-bill/issue/", billing.issue_drafts, name="drafts-issue"),
    path("to-bill/<slug:reference>/waive/", billing.waive_audit, name="audit-waive"),
    path("invoices/", invoices.invoice_list, name="invoices"),
    path("invoices/<int:pk>/", invoices.invoice_page, name="invoice"),
    path("invoices/<int:pk>/issue/", invoices.issue, name="invoice-issue"),
    path("invoices/<int:pk>/discard/", invoices.discard, name="invoice-discard"),
    path("invoices/<int:pk>/credit/", invoices.credit, name="invoice-credit"),
    path("invoices/<int:pk>/payment/", payments.record, name="payment-record"),
    path("invoices/<int:pk>/overpayment/", overpayments.show, name="overpayment"),
    path("invoices/<int:pk>/overpayment/move/", overpayments.move, name="overpayment-move"),
    path(
        "invoices/<int:pk>/overpayment/pay-back/",
        overpayments.pay_back,
        name="overpayment-pay-back",
    ),
    *(
        path(
            f"overpayments/<int:pk>/{step}/",
            pay_backs.send if step == "send" else pay_backs.act,
            {"step": step},
            name=f"pay-back-{step}",
        )
        for step in pay_back_steps.FORMS
    ),
    path("payments/", payment_list.payment_list, name="payments"),
    path("bank/", bank.bank, name="bank"),
    path("bank/record/", bank.record, name="bank-record"),
    path("bank/imports/<int:pk>/", bank.import_page, name="bank-import"),
    path("bank/imports/<int:pk>/drop/", bank.drop, name="bank-drop"),
    path("bank/lines/<int:pk>/", bank.line_page, name="bank-line"),
    path("bank/lines/<int:pk>/assign/", bank.assign, name="bank-assign"),
    path("bank/lines/<int:pk>/set-aside/", bank.set_aside, name="bank-set-aside"),
    path("customers/<int:pk>/", accounts.account, name="customer-account"),
    path("ledger/", ledger.trial_balance, name="ledger"),
    path("ledger/accounts/<slug:code>/<slug:currency>/", ledger.account, name="ledger-account"),
    path("ledger/engagements/<slug:reference>/", ledger.engagement, name="ledger-engagement"),
    path("ledger/entries/<int:pk>/", ledger.entry, name="ledger-entry"),
    path("ledger/risk/", risk.money_at_risk, name="money-at-risk"),
    path("ledger/close/", periods.close, name="ledger-close"),
    path("ledger/export/", exports.export, name="ledger-export"),
    path("engagements/<slug:reference>/settle/", settlements.propose, name="settlement-propose"),
    path("customers/<int:pk>/bank-account/", bank_accounts.bank_account, name="bank-account"),
    path("settlements/", settlement_list.settlement_list, name="settlements"),
    path("settlements/file/", transfers.make, name="transfers"),
    path("settlements/files/<int:pk>/", transfers.file, name="transfer-file"),
    path("settlements/<int:pk>/", settlements.settlement_page, name="settlement"),
    *(
        path(
            f"settlements/<int:pk>/{step}/",
            settlements.approve if step == "approve" else settlements.act,
            {"step": step},
            name=f"settlement-{step}",
        )
        for step in FORMS
    ),
]
