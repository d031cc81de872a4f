from django.apps import AppConfig
from django.db.models.signals import post_migrate


class EngagementsConfig(AppConfig):
    name = "engagements"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from allauth.mfa.signals import authenticator_added

        from benchmarks.signals import check_concluded, key_revoked, run_concluded
        from engagements import receivers
        from engagements.event_log.events import event_recorded

        run_concluded.connect(receivers.conclude_run)
        check_concluded.connect(receivers.record_check)
        key_revoked.connect(receivers.review_runs)
        event_recorded.connect(receivers.notify_people)
        event_recorded.connect(receivers.propose_refund_account)
        authenticator_added.connect(receivers.end_other_sign_ins)
        post_migrate.connect(receivers.create_missing_accounts, sender=self)
