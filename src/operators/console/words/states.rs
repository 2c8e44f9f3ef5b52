//! States as people read them: the name of each, with how it is to be judged.

use caudal_http::current::Language;

use super::super::cells::Tone;

macro_rules! states {
    ($($($wire:literal)|+ : $tone:ident, $spanish:literal, $english:literal;)+) => {
        /// A state, by its word on the wire, in a language; a word that is not here is shown as it is.
        pub(crate) fn state(wire: &str, language: Language) -> Option<(Tone, &'static str)> {
            let (tone, spanish, english) = match wire {
                $($($wire)|+ => (Tone::$tone, $spanish, $english),)+
                _ => return None,
            };
            Some((tone, match language {
                Language::Spanish => spanish,
                Language::English => english,
            }))
        }
    };
}

states! {
    // Problems, and how soon they need a person.
    "not_ready": Bad, "No está listo", "Not ready";
    "no_owner": Bad, "Ningún nodo atiende", "No node serves requests";
    "clock_in_doubt": Bad, "El reloj de la máquina está en duda: no se toman órdenes", "The machine's clock is in doubt: no orders are taken";
    "damage_found": Bad, "La revisión encontró daños en el disco", "The check found damage on the disk";
    "money_missing": Bad, "Falta dinero de clientes", "Client money is missing";
    "realm_down": Bad, "Entorno caído", "Realm down";
    "one_copy": Bad, "El registro está en un solo servidor", "The log is on one server only";
    "disk_nearly_full": Bad, "El disco está casi lleno", "The disk is nearly full";
    "bank_unreachable": Bad, "El banco no responde y hay transferencias en espera", "The bank does not respond, and transfers wait for it";
    "backup_behind": Bad, "La copia de seguridad está atrasada", "The backup is behind";
    "node_absent": Warn, "Un nodo no responde", "A node does not respond";
    "disk_low": Warn, "Queda poco espacio en disco", "The disk is getting full";
    "coverage_unknown": Warn, "El banco no informa el saldo", "The bank does not report the balance";
    "outgoing_held": Warn, "Transferencias y webhooks retenidos desde una restauración", "Transfers and webhooks held since a restore";
    "case_old": Warn, "Un caso espera hace más de una hora", "A case has waited for more than an hour";
    "transfer_old": Warn, "Una transferencia espera al banco hace más de una hora", "A transfer has waited for the bank for more than an hour";
    "day_not_closed": Warn, "Un día no se pudo cerrar", "A day could not be closed";
    "webhook_stopped": Warn, "Un webhook se detuvo", "A webhook has stopped";
    "key_ends": Warn, "Una clave de API está por vencer", "An API key expires soon";
    "page": Bad, "Ahora", "Now";
    "ticket": Warn, "Próximo día hábil", "Next working day";

    // Realms.
    "live": Quiet, "Producción", "Live";
    "test": Quiet, "Prueba", "Test";

    // Accounts, keys, webhooks.
    "active": Good, "Activa", "Active";
    "registered": Quiet, "Registrada", "Registered";
    "suspended": Warn, "Suspendida", "Suspended";
    "closed": Quiet, "Cerrada", "Closed";
    "revoked": Bad, "Revocada", "Revoked";
    "expired": Quiet, "Vencida", "Expired";
    "ending": Warn, "Por vencer", "Expiring";
    "paused": Quiet, "Pausado", "Paused";
    "failing": Bad, "Falla", "Failing";
    "parked": Bad, "Abandonado", "Parked";
    "gone": Bad, "Dado de baja", "Gone";
    "delivered": Good, "Entregado", "Delivered";
    "human": Quiet, "Persona humana", "Natural person";
    "legal": Quiet, "Persona jurídica", "Legal person";

    // Transfers and holds.
    "requested": Warn, "Pedida", "Requested";
    "in_progress": Warn, "En curso", "In progress";
    "audit": Bad, "En auditoría", "In audit";
    "completed": Good, "Completada", "Completed";
    "rejected": Bad, "Rechazada", "Rejected";
    "reversed": Warn, "Devuelta", "Reversed";
    "failed": Bad, "Fallida", "Failed";
    "unknown": Bad, "Desconocida", "Unknown";
    "internal": Quiet, "Interna", "Internal";
    "bank": Quiet, "Por el banco", "By the bank";
    "open": Warn, "Abierto", "Open";
    "confirmed": Good, "Confirmada", "Confirmed";
    "released": Quiet, "Liberada", "Released";

    // Movements.
    "credit": Good, "Crédito", "Credit";
    "debit": Quiet, "Débito", "Debit";
    "hold": Warn, "Retención", "Hold";
    "release": Good, "Liberación", "Release";
    "confirm_hold": Quiet, "Retención confirmada", "Hold confirmed";
    "in": Good, "Entra", "In";
    "out": Quiet, "Sale", "Out";

    // The bank's side of closed days.
    "known": Good, "El banco respondió", "The bank answered";
    "late": Good, "El banco respondió después", "The bank answered later";
    "absent": Quiet, "Sin saldo del banco", "No balance from the bank";
    "contradicted": Bad, "El banco la terminó de otra forma", "The bank ended it differently";

    // Cases.
    "transfer": Quiet, "Transferencia", "Transfer";
    "suspense": Quiet, "Suspenso", "Suspense";
    "unbooked": Quiet, "Sin registrar", "Not booked";
    "collector": Quiet, "Cuenta recaudadora", "Collector account";
    "bank_fee": Quiet, "Comisión del banco", "Bank fee";
    "bank_tax": Quiet, "Impuesto del banco", "Bank tax";
    "interest": Quiet, "Intereses", "Interest";
    "funding": Quiet, "Aporte propio", "Funding";
    "sweep": Quiet, "Retiro propio", "Sweep";
    "unclassified": Bad, "Sin clasificar", "Unclassified";
    "voucher": Quiet, "Comprobante", "Voucher";
    "asset": Quiet, "Activo", "Asset";
    "liability": Quiet, "Pasivo", "Liability";
    "income": Quiet, "Ingreso", "Income";
    "expense": Quiet, "Gasto", "Expense";
    "equity": Quiet, "Patrimonio", "Equity";
    "memo": Quiet, "Cuenta de orden", "Memo";
    "waiting": Warn, "En espera", "Waiting";
    "returning": Warn, "Devolviendo", "Returning";
    "credited": Good, "Acreditado", "Credited";
    "returned": Quiet, "Devuelto", "Returned";
    "decided": Quiet, "Decidido", "Decided";
    "account_not_found": Bad, "La cuenta no existe", "No such account";
    "account_closed": Bad, "La cuenta está cerrada", "The account is closed";
    "told_otherwise": Bad, "El banco lo informó de otro modo", "The bank reported it differently";
    "unreadable": Bad, "La línea del banco es ilegible", "The bank's line cannot be read";

    // Reconciliation.
    "matched": Good, "Coincide", "Matched";
    "missing_in_ledger": Bad, "Falta en el libro", "Missing in the ledger";
    "missing_at_bank": Bad, "Falta en el banco", "Missing at the bank";
    "amount_differs": Bad, "Difiere el importe", "Amount differs";
    "pending": Warn, "Pendiente", "Pending";

    // Levels of limits, causes of suspensions.
    "account": Quiet, "La cuenta", "Account";
    "psp": Quiet, "El PSP", "Tenant";
    "platform": Quiet, "La plataforma", "Platform";
    "none": Quiet, "Sin límite", "No limit";
    "fraud": Bad, "Fraude", "Fraud";
    "compliance": Warn, "Cumplimiento", "Compliance";
    "court_order": Warn, "Orden judicial", "Court order";
    "customer_request": Quiet, "Pedido del cliente", "Customer's request";
    "other": Quiet, "Otra", "Other";

    // Why a webhook got no answer.
    "timed_out": Bad, "Sin respuesta a tiempo", "Timed out";
    "connection_failed": Bad, "No se pudo conectar", "Connection failed";
    "host_unresolved": Bad, "No se encontró el servidor", "Host not found";
    "address_forbidden": Bad, "Dirección no permitida", "Address not allowed";
    "connection_broken": Bad, "Se cortó la conexión", "Connection lost";
    "not_sendable": Bad, "No se pudo enviar", "Could not be sent";

    // The audit log.
    "begun": Warn, "Iniciado", "Started";
    "done": Good, "Hecho", "Done";
    "looked": Quiet, "Consultado", "Viewed";
    "denied": Bad, "Denegado", "Denied";
    "asked": Warn, "Por aprobar", "Requested";
    "approved": Warn, "Aprobado", "Approved";

    // Why the bank's balance is not known.
    "bank_refused": Bad, "El banco rechazó la consulta", "The bank refused the query";
    "bank_failed": Bad, "El banco falló", "The bank failed";
    "bank_timeout": Bad, "El banco no respondió a tiempo", "The bank did not answer in time";
    "bank_not_yet": Warn, "El banco aún no respondió", "The bank has not answered yet";
    "bank_not_set": Warn, "No hay banco configurado", "No bank is set up";
    "collector_shared": Warn, "La cuenta es de varios entornos", "Several realms share the account";
}
