//! Management classes and methods: whom a MAD is for, and what it asks.

use super::code::codes;

codes! {
    /// Management class: whom a MAD is for.
    MadClass(u8), "class_{:#04x}" {
        /// Subnet management, routed by LID.
        SUBNET_MANAGEMENT = 0x01, "SUBN";
        /// Subnet administration.
        SUBNET_ADMINISTRATION = 0x03, "SUBN_ADM";
        /// Performance counters.
        PERFORMANCE = 0x04, "PERF";
        /// Baseboard management.
        BASEBOARD = 0x05, "BM";
        /// Device management.
        DEVICE = 0x06, "DEV_MGT";
        /// Communication management.
        COMMUNICATION = 0x07, "CM";
        /// Tunnelled SNMP.
        SNMP = 0x08, "SNMP";
        /// Subnet management, by directed route.
        SUBNET_MANAGEMENT_DIRECTED = 0x81, "SUBN_DR";
    }
}

codes! {
    /// Method: what a MAD asks or answers. The top bit says that it is an answer.
    MadMethod(u8), "{:#04x}" {
        /// Read an attribute.
        GET = 0x01, "GET";
        /// Write an attribute.
        SET = 0x02, "SET";
        /// A message that is not answered under its own method; all of communication management.
        SEND = 0x03, "SEND";
        /// Tell of an event.
        TRAP = 0x05, "TRAP";
        /// Pass on an event that was subscribed to.
        REPORT = 0x06, "REPORT";
        /// Do not send this trap again.
        TRAP_REPRESS = 0x07, "TRAP_REPRESS";
        /// Answer to `GET` and `SET`.
        GET_RESPONSE = 0x81, "GET_RESP";
        /// Answer to `REPORT`.
        REPORT_RESPONSE = 0x86, "REPORT_RESP";
    }
}
