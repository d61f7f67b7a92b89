import NightshiftAPI

/// Descriptions of GeoClue and the modem for users.
extension BusSide {
    var geoClueStatus: LocationStatus.SourceStatus {
        let name = "geoclue"
        if let absence {
            return Self.status(
                name, false, "GeoClue cannot be asked, because the system bus cannot be used: \(absence.text).")
        }
        guard let hadGeoClue else { return Self.status(name, false, "GeoClue has not been asked yet.") }
        guard hadGeoClue else {
            return Self.status(
                name, false, "GeoClue is not installed. To get locations from networks: sudo apt install geoclue-2.0.")
        }
        if isGeoClueSilent {
            return Self.status(
                name, false,
                "GeoClue does not answer, because it waits for a desktop agent. Start your desktop's agent, or install "
                    + "one: sudo apt install geoclue-2-demo. To use a satellite receiver: sudo apt install gpsd.",
                isSilent: true)
        }
        let failures = [fix.trouble, changes.trouble, probeFailure].compactMap(\.self)
        guard let failure = failures.first else {
            return Self.status(name, true, "GeoClue reports locations from networks and from receivers that it knows.")
        }
        if failures.contains(where: \.isDenial) {
            return Self.status(
                name, false,
                "GeoClue does not let nightshift read the location (\(failure.text)). Allow it in the desktop's "
                    + "settings, or with a section [nightshift] in /etc/geoclue/geoclue.conf.")
        }
        return Self.status(name, false, "GeoClue does not report a location (\(failure.text)).")
    }

    var modemStatus: LocationStatus.SourceStatus {
        let name = "modem"
        if let absence {
            return Self.status(
                name, false, "ModemManager cannot be asked, because the system bus cannot be used: \(absence.text).")
        }
        switch hadModem {
        case nil: return Self.status(name, false, "ModemManager has not been asked yet.")
        case .noManager:
            return Self.status(
                name, false,
                "ModemManager is not running. To detect mobile network cells: sudo apt install modemmanager.")
        case .noModem: return Self.status(name, false, "ModemManager does not know a modem that reports its location.")
        case .tellsNoCells: return Self.status(name, false, "The modem does not report its cell.")
        case .refuses(let failure):
            return Self.status(
                name, false,
                "ModemManager does not let nightshift read the cell (\(failure.text)). Allow "
                    + "org.freedesktop.ModemManager1.Device.Control in a polkit rule.")
        case .silent:
            return Self.status(
                name, false, "ModemManager does not answer. Restart it: sudo systemctl restart ModemManager.",
                isSilent: true)
        case .unreadable(let failure):
            return Self.status(name, false, "ModemManager does not report its modems (\(failure.text)).")
        case .tellsCells: return Self.status(name, true, "The modem reports its cell.")
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
