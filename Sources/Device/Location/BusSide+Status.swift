import NightshiftAPI

/// Descriptions of GeoClue and the modem for people.
extension BusSide {
    var geoClueStatus: LocationStatus.SourceStatus {
        let name = "geoclue"
        if let absence {
            return Self.status(name, false, "There is no system bus to ask GeoClue over: \(absence.text).")
        }
        guard let hadGeoClue else { return Self.status(name, false, "It was not asked yet.") }
        guard hadGeoClue else {
            return Self.status(
                name, false, "GeoClue is not installed. For places by networks: sudo apt install geoclue-2.0.")
        }
        if isGeoClueSilent {
            return Self.status(
                name, false,
                "GeoClue does not answer: it waits for an agent of the desktop. Start the desktop's own in your session, "
                    + "or that of sudo apt install geoclue-2-demo; for a receiver: sudo apt install gpsd.",
                isSilent: true)
        }
        let failures = [fix.trouble, changes.trouble, probeFailure].compactMap(\.self)
        guard let failure = failures.first else {
            return Self.status(name, true, "GeoClue tells places by networks, and by receivers that it knows.")
        }
        if failures.contains(where: \.isDenial) {
            return Self.status(
                name, false,
                "GeoClue lets nightshift have no place (\(failure.text)). Allow it in the desktop's settings, or with a "
                    + "section [nightshift] in /etc/geoclue/geoclue.conf.")
        }
        return Self.status(name, false, "GeoClue tells no place: \(failure.text).")
    }

    var modemStatus: LocationStatus.SourceStatus {
        let name = "modem"
        if let absence {
            return Self.status(name, false, "There is no system bus to ask ModemManager over: \(absence.text).")
        }
        switch hadModem {
        case nil: return Self.status(name, false, "It was not asked yet.")
        case .noManager:
            return Self.status(
                name, false, "ModemManager does not run. For cells of a mobile network: sudo apt install modemmanager.")
        case .noModem: return Self.status(name, false, "ModemManager knows no modem that tells where it is.")
        case .tellsNoCells: return Self.status(name, false, "The modem does not tell its cell.")
        case .refuses(let failure):
            return Self.status(
                name, false,
                "ModemManager does not let nightshift have the cell (\(failure.text)): allow "
                    + "org.freedesktop.ModemManager1.Device.Control in a rule of polkit.")
        case .silent:
            return Self.status(
                name, false, "ModemManager does not answer. Restart it: sudo systemctl restart ModemManager.",
                isSilent: true)
        case .unreadable(let failure): return Self.status(name, false, "ModemManager \(failure.text).")
        case .tellsCells: return Self.status(name, true, "The modem tells its cell.")
        }
    }

    private static func status(
        _ name: String, _ isAvailable: Bool, _ sentence: String, isSilent: Bool? = nil
    ) -> LocationStatus.SourceStatus {
        var status = LocationStatus.SourceStatus(name: name, isAvailable: isAvailable, sentence: sentence)
        status.isSilent = isSilent
        return status
    }
}

extension BusFailure {
    fileprivate var isDenial: Bool { text.contains("AccessDenied") }
}
