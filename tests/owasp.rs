//! The ten risks of APIs that OWASP lists (2023), and the tests against each: of the public API, of the admin API, of
//! the console.
//!
//! The table is checked against the files: a test that is named but does not exist fails, and so does a test of
//! `tests/owasp` that no risk names.

mod functions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A risk, and the tests against it: file and function.
struct Risk {
    name: &'static str,
    held_by: &'static [(&'static str, &'static str)],
}

const RISKS: &[Risk] = &[
    Risk {
        name: "API1 broken object level authorization",
        held_by: &[
            (
                "tests/contract/checks.rs",
                "resources_of_another_tenant_are_not_found",
            ),
            (
                "tests/contract/foreign.rs",
                "references_to_resources_of_another_tenant_are_not_found",
            ),
            (
                "tests/contract/foreign.rs",
                "anothers_number_is_a_number_of_nothing",
            ),
            (
                "tests/isolation.rs",
                "realms_with_the_same_names_for_everything_never_meet",
            ),
            (
                "tests/isolation.rs",
                "filters_and_bodies_do_not_reach_into_other_realms",
            ),
            (
                "tests/webhooks/tenants.rs",
                "another_tenants_webhook_is_as_one_that_does_not_exist",
            ),
        ],
    },
    Risk {
        name: "API2 broken authentication",
        held_by: &[
            (
                "tests/contract/checks.rs",
                "every_operation_wants_a_right_key",
            ),
            (
                "tests/isolation.rs",
                "a_key_speaks_for_its_own_secret_alone",
            ),
            (
                "tests/keys.rs",
                "a_key_ends_when_it_was_issued_to_end_and_a_rotation_gives_one_for_as_long",
            ),
            (
                "tests/keys.rs",
                "a_key_works_only_from_its_addresses_also_behind_a_proxy",
            ),
            (
                "tests/keys.rs",
                "whom_nobody_believes_cannot_say_where_a_request_comes_from",
            ),
            (
                "tests/unauthenticated/keys.rs",
                "wrong_keys_are_slowed_and_right_ones_are_not",
            ),
            (
                "tests/unauthenticated/keys.rs",
                "wrong_admin_keys_are_slowed_and_an_operator_gets_in",
            ),
            (
                "src/service/tests/admin/people.rs",
                "a_credential_ends_at_once_and_another_one_never_comes_back",
            ),
            (
                "src/operators/console/sessions.rs",
                "a_session_ends_when_idle_when_old_and_when_told",
            ),
            (
                "tests/console/sessions.rs",
                "unauthenticated_visitors_are_redirected_to_the_login_page",
            ),
            ("tests/console/sessions.rs", "a_link_logs_in_once"),
            (
                "tests/console/sessions.rs",
                "a_session_ends_with_its_logout_and_with_the_credential",
            ),
            ("tests/console/sessions.rs", "each_login_gets_a_new_session"),
            (
                "tests/console/sessions.rs",
                "the_cookie_of_a_session_goes_to_the_console_alone_and_in_secret_where_the_way_is",
            ),
            (
                "tests/console/doors.rs",
                "no_key_of_a_tenant_and_no_header_opens_the_console",
            ),
        ],
    },
    Risk {
        name: "API3 broken object property level authorization",
        held_by: &[
            (
                "tests/contract/owned.rs",
                "service_headers_of_clients_are_ignored",
            ),
            (
                "tests/isolation.rs",
                "what_only_the_service_may_set_is_refused_in_every_body",
            ),
            ("tests/contract/checks.rs", "bodies_are_read_strictly"),
            (
                "tests/contract/checks.rs",
                "every_operation_is_reached_and_answers_what_its_document_says",
            ),
            (
                "tests/contract/parameters.rs",
                "a_parameter_that_an_operation_does_not_have_is_refused_with_the_one_that_was_meant",
            ),
            (
                "src/service/tests/admin/parameters.rs",
                "a_parameter_that_an_operation_does_not_have_is_refused",
            ),
        ],
    },
    Risk {
        name: "API4 unrestricted resource consumption",
        held_by: &[
            (
                "tests/contract/sizes.rs",
                "every_number_of_a_query_has_its_bounds",
            ),
            (
                "tests/contract/sizes.rs",
                "the_end_of_every_list_is_a_place_like_any_other",
            ),
            (
                "tests/contract/lists.rs",
                "every_list_takes_a_cursor_and_says_where_it_goes_on",
            ),
            (
                "tests/contract/checks.rs",
                "a_rate_limit_is_told_and_holds_for_one_key",
            ),
            ("tests/hostile.rs", "bodies_that_are_no_bodies"),
            (
                "tests/hostile.rs",
                "bodies_that_are_too_large_or_of_another_type",
            ),
            ("tests/hostile.rs", "a_body_that_drips_is_given_up"),
            ("tests/hostile.rs", "heads_that_drip_are_given_up"),
            (
                "tests/unauthenticated/flood.rs",
                "clients_that_read_nothing",
            ),
            (
                "tests/unauthenticated/flood.rs",
                "idle_clients_when_descriptors_are_few",
            ),
            ("tests/unauthenticated/flood.rs", "heads_without_an_end"),
            (
                "tests/unauthenticated/readers.rs",
                "clients_that_read_nothing_are_disconnected",
            ),
            (
                "tests/unauthenticated/connections.rs",
                "one_address_has_its_bound_and_others_are_served",
            ),
            (
                "tests/webhooks/tenants.rs",
                "a_realm_has_so_many_webhooks_and_no_more",
            ),
            (
                "src/operators/console/sessions.rs",
                "one_person_has_so_many_sessions_and_nobody_else_loses_theirs",
            ),
        ],
    },
    Risk {
        name: "API5 broken function level authorization",
        held_by: &[
            (
                "tests/owasp/functions.rs",
                "what_operators_do_is_closed_to_every_key_of_a_tenant_and_not_there_for_the_public",
            ),
            (
                "tests/owasp/functions.rs",
                "tenant_keys_do_not_open_the_admin_api",
            ),
            (
                "src/service/tests/admin/people.rs",
                "each_role_gets_to_its_operations_and_to_no_others",
            ),
            (
                "src/service/tests/admin/people.rs",
                "the_table_has_the_operations_of_the_document_and_no_others",
            ),
            (
                "tests/contract/scopes.rs",
                "every_operation_needs_the_scope_that_the_document_names",
            ),
            (
                "tests/cases/eyes.rs",
                "a_decision_above_the_amount_waits_and_one_below_does_not",
            ),
            (
                "tests/console/doors.rs",
                "every_form_of_the_console_is_known_here",
            ),
            (
                "tests/console/doors.rs",
                "each_form_is_for_its_roles_and_for_forms_of_its_session",
            ),
            (
                "tests/console/acts.rs",
                "roles_hold_at_the_console_as_at_the_api",
            ),
        ],
    },
    Risk {
        name: "API6 unrestricted access to sensitive business flows",
        held_by: &[
            (
                "tests/limits.rs",
                "all_that_goes_out_counts_and_what_returns_is_given_back",
            ),
            (
                "tests/limits.rs",
                "a_tenant_has_limits_over_the_sum_of_its_accounts",
            ),
            (
                "tests/limits.rs",
                "the_largest_balance_stops_credits_of_the_tenant_and_no_money_from_the_bank",
            ),
            (
                "tests/isolation.rs",
                "an_alias_is_one_over_all_tenants_of_a_mode",
            ),
            (
                "tests/cases/suspense.rs",
                "one_of_many_concurrent_credits_succeeds",
            ),
            (
                "tests/cases/list.rs",
                "nothing_of_it_is_seen_without_the_admin_key",
            ),
        ],
    },
    Risk {
        name: "API7 server side request forgery",
        held_by: &[
            (
                "tests/webhooks/tenants.rs",
                "a_webhook_leads_to_the_internet_and_nowhere_else",
            ),
            (
                "tests/webhooks/tenants.rs",
                "only_the_address_that_an_operator_allows_is_allowed",
            ),
            (
                "tests/webhooks/addresses.rs",
                "a_url_that_may_not_be_sent_to_is_judged_again_at_each_attempt",
            ),
            (
                "tests/webhooks/addresses.rs",
                "the_connection_goes_to_the_address_that_was_judged",
            ),
            (
                "tests/webhooks/addresses.rs",
                "a_redirect_is_a_status_and_nobody_goes_there",
            ),
            (
                "tests/webhooks/patience.rs",
                "where_a_webhook_leads_is_judged_again_when_it_is_sent",
            ),
        ],
    },
    Risk {
        name: "API8 security misconfiguration",
        held_by: &[
            ("tests/contract/checks.rs", "every_answer_has_its_frame"),
            (
                "tests/unauthenticated/pages.rs",
                "every_answer_protects_whoever_reads_it",
            ),
            (
                "tests/console/doors.rs",
                "every_answer_of_the_console_keeps_a_browser_in_bounds",
            ),
            (
                "tests/console/foreign_texts.rs",
                "what_somebody_else_wrote_is_text_on_every_page",
            ),
            ("tests/console/sessions.rs", "forms_of_others_are_refused"),
            (
                "tests/console/sessions.rs",
                "the_key_logs_in_and_leads_back_to_a_page_of_the_console_alone",
            ),
            (
                "tests/unauthenticated/keys.rs",
                "the_secret_that_everybody_knows_opens_nothing",
            ),
            (
                "tests/unauthenticated/keys.rs",
                "without_a_secret_no_notice_is_believed",
            ),
            (
                "tests/unauthenticated/process.rs",
                "signals_of_others_end_nothing_and_what_is_left_is_private",
            ),
            (
                "tests/hostile.rs",
                "requests_that_could_be_read_in_two_ways",
            ),
            ("tests/hostile.rs", "paths_that_try_to_be_others"),
            ("tests/hostile.rs", "headers_that_are_abused"),
            ("tests/logs.rs", "the_canary_sees_what_it_is_there_for"),
            ("tests/logs.rs", "secrets_sent_in_tests_are_learnt"),
            (
                "tests/logs.rs",
                "a_line_with_what_must_not_be_there_fails_a_test",
            ),
        ],
    },
    Risk {
        name: "API9 improper inventory management",
        held_by: &[
            ("tests/contract.rs", "every_operation_has_a_row"),
            (
                "tests/contract/checks.rs",
                "other_methods_and_paths_are_told_apart",
            ),
            (
                "tests/contract/checks.rs",
                "the_document_that_is_served_is_the_one_of_the_service",
            ),
            (
                "tests/contract/outline.rs",
                "the_interface_is_as_it_was_reviewed",
            ),
            (
                "src/service/tests/admin/people.rs",
                "the_table_has_the_operations_of_the_document_and_no_others",
            ),
        ],
    },
    Risk {
        name: "API10 unsafe consumption of APIs",
        held_by: &[
            (
                "tests/bank.rs",
                "a_bank_that_hangs_up_or_talks_nonsense_gives_502_and_one_account_in_the_end",
            ),
            (
                "tests/bank.rs",
                "a_silent_bank_gives_504_and_one_account_in_the_end",
            ),
            (
                "tests/bank.rs",
                "bank_answers_are_shown_without_unrequested_fields",
            ),
            (
                "tests/bank_failures/disputes.rs",
                "an_answer_of_something_else_settles_nothing",
            ),
            (
                "tests/bank_failures/disputes.rs",
                "a_notice_of_something_else_settles_nothing",
            ),
            ("tests/bank_failures/notices.rs", "forged_notice"),
            (
                "tests/notices.rs",
                "nothing_is_believed_without_a_signature",
            ),
            (
                "tests/webhooks/receivers.rs",
                "an_endless_response_is_read_up_to_a_limit",
            ),
            (
                "tests/webhooks/receivers.rs",
                "an_invalid_response_is_a_broken_connection",
            ),
            (
                "tests/console/foreign_texts.rs",
                "what_somebody_else_wrote_is_text_on_every_page",
            ),
        ],
    },
];

fn text_of(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{file}: {why}"))
}

/// The names of the tests in a file: functions right below an attribute that makes them tests.
fn tests_of(text: &str) -> BTreeSet<String> {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut found = BTreeSet::new();
    while let Some(line) = lines.next() {
        if !["#[test]", "#[actix_web::test]"].contains(&line) {
            continue;
        }
        let next = lines.peek().map(|it| it.trim_start_matches("async "));
        let name = next
            .and_then(|it| it.strip_prefix("fn "))
            .and_then(|it| it.split('(').next());
        found.extend(name.map(str::to_owned));
    }
    found
}

#[test]
fn every_risk_is_held_by_tests_that_are_there() {
    let names: Vec<_> = RISKS
        .iter()
        .map(|it| it.name.split(' ').next().unwrap())
        .collect();
    let all: Vec<_> = (1..=10).map(|n| format!("API{n}")).collect();
    assert_eq!(names, all);
    for risk in RISKS {
        assert!(!risk.held_by.is_empty(), "{}", risk.name);
        for (file, test) in risk.held_by {
            assert!(
                tests_of(&text_of(file)).contains(*test),
                "{}: no test {test} in {file}",
                risk.name
            );
        }
    }
}

#[test]
fn every_test_that_is_here_for_a_risk_is_named_by_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/owasp");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path());
    let files: Vec<PathBuf> = files.collect();
    assert!(!files.is_empty());
    let named: BTreeSet<_> = RISKS
        .iter()
        .flat_map(|it| it.held_by)
        .map(|(_, test)| (*test).to_owned())
        .collect();
    for file in files {
        let tests = tests_of(&std::fs::read_to_string(&file).unwrap());
        let left: Vec<_> = tests.difference(&named).collect();
        assert!(left.is_empty(), "{file:?}: {left:?} hold no risk");
    }
}
