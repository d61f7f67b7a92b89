import NightshiftAPI

/// The connection to the system bus for location requests, used by one thread. See ``MessageBus``.
final class LocationBus {
    private let bus: MessageBus
    /// The requests in progress, by the cookies of their messages.
    private var asked: [UInt64: LocationBusRequest] = [:]

    /// The desktop entry name that identifies this program to GeoClue, its configuration and its agents.
    static let desktopID = "nightshift"

    init(address: String) throws(BusFailure) {
        bus = try MessageBus(address: address)
    }

    var descriptor: Int32 { bus.descriptor }
    var events: Int16 { bus.events }
    var deadline: Double? { bus.deadline }

    func send(_ request: LocationBusRequest) throws(BusFailure) {
        let (daemon, path) = (MessageBus.daemon, MessageBus.daemonPath)
        switch request {
        case .subscribe(let rule):
            let call = try bus.newCall(daemon, path, daemon, "AddMatch")
            try call.append(rule)
            _ = try bus.send(call)
        case .activatable: asked[try bus.send(try bus.newCall(daemon, path, daemon, "ListActivatableNames"))] = request
        case .owner(let service):
            let call = try bus.newCall(daemon, path, daemon, "GetNameOwner")
            try call.append(service.rawValue)
            asked[try bus.send(call)] = request
        case .createClient: asked[try bus.send(try manager("CreateClient"), startsService: true)] = request
        case .startClient(let path, _, let demand, _):
            try set("DesktopId", .text(Self.desktopID), of: path)
            try set("DistanceThreshold", .number(UInt32(clamping: demand.distance)), of: path)
            try set("TimeThreshold", .number(UInt32(clamping: demand.time)), of: path)
            try set("RequestedAccuracyLevel", .number(UInt32(clamping: demand.level.rawValue)), of: path)
            asked[try bus.send(try bus.newCall(Self.geoClue, path, Self.client, "Start"))] = request
        case .deleteClient(let path):
            // Deleting the client also stops it, but some replacements of GeoClue do not support deletion.
            _ = try bus.send(try bus.newCall(Self.geoClue, path, Self.client, "Stop"))
            let call = try manager("DeleteClient")
            try call.append(path: path)
            _ = try bus.send(call)
        case .place(let path, _, _):
            let call = try bus.newCall(Self.geoClue, path, Self.properties, "GetAll")
            try call.append("\(Self.geoClue).Location")
            asked[try bus.send(call)] = request
        case .modems:
            let path = "/org/freedesktop/ModemManager1"
            let call = try bus.newCall(Self.modemManager, path, Self.objectManager, "GetManagedObjects")
            asked[try bus.send(call)] = request
        case .setUp(let path, let sources, let signals, _):
            let call = try bus.newCall(Self.modemManager, path, Self.modemLocation, "Setup")
            try call.append(sources)
            try call.append(truth: signals)
            asked[try bus.send(call)] = request
        }
    }

    private func manager(_ member: String) throws(BusFailure) -> OutgoingMessage {
        try bus.newCall(Self.geoClue, "/org/freedesktop/GeoClue2/Manager", "\(Self.geoClue).Manager", member)
    }

    private func set(_ property: String, _ value: OutgoingValue, of client: String) throws(BusFailure) {
        let call = try bus.newCall(Self.geoClue, client, Self.properties, "Set")
        try call.append(Self.client)
        try call.append(property)
        try call.append(variant: value)
        _ = try bus.send(call)
    }

    /// Returns the next event that has arrived, or nil if there are no more, and sends queued messages. Throws when the
    /// connection has ended.
    func next() throws(BusFailure) -> LocationBusEvent? {
        try bus.next { event($0) }
    }

    private func event(_ message: BusMessage) -> LocationBusEvent? {
        guard let cookie = message.answeredCookie else { return signal(message) }
        return asked.removeValue(forKey: cookie).flatMap(message.answer(to:))
    }

    private func signal(_ message: BusMessage) -> LocationBusEvent? {
        guard let sender = message.sender, let path = message.path else { return nil }
        if sender == MessageBus.daemon, message.isSignal(MessageBus.daemon, "NameOwnerChanged") {
            guard let name = try? message.readText(), let service = LocationBusService(rawValue: name),
                (try? message.readText()) != nil, let owner = try? message.readText()
            else { return nil }
            return .owner(service, owner.isEmpty ? nil : owner)
        }
        if sender == MessageBus.daemon, message.isSignal(MessageBus.daemon, "ActivatableServicesChanged") {
            return .activatableChanged
        }
        if message.isSignal(Self.client, "LocationUpdated") {
            guard (try? message.readText("o")) != nil, let place = try? message.readText("o") else { return nil }
            return .updated(client: path, place: place, sender: sender)
        }
        if message.isSignal(Self.properties, "PropertiesChanged") {
            guard (try? message.readText()) == Self.modemLocation, let reading = try? message.readModem() else {
                return nil
            }
            return .modemChanged(path: path, sender: sender, reading)
        }
        if message.isSignal(Self.modem, "StateChanged") {
            guard (try? message.readFixed("i", Int32.self)) != nil, let state = try? message.readFixed("i", Int32.self)
            else { return nil }
            return .modemChanged(path: path, sender: sender, ModemReading(state: state))
        }
        let areModems = ["InterfacesAdded", "InterfacesRemoved"].contains {
            message.isSignal(Self.objectManager, $0)
        }
        return areModems ? .modemsChanged(sender: sender) : nil
    }

    fileprivate static let geoClue = LocationBusService.geoClue.rawValue
    fileprivate static let client = "\(LocationBusService.geoClue.rawValue).Client"
    fileprivate static let modemManager = LocationBusService.modemManager.rawValue
    fileprivate static let modem = "\(LocationBusService.modemManager.rawValue).Modem"
    fileprivate static let modemLocation = "\(LocationBusService.modemManager.rawValue).Modem.Location"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let objectManager = "org.freedesktop.DBus.ObjectManager"
}

extension BusMessage {
    fileprivate func answer(to request: LocationBusRequest) -> LocationBusEvent? {
        switch request {
        case .subscribe, .deleteClient: return nil
        case .activatable: return .activatable(isError ? nil : (try? readTexts()).map(Set.init))
        // An error means that the name has no owner.
        case .owner(let service): return .owner(service, isError ? nil : try? readText())
        case .createClient(let use, let number):
            return .clientCreated(use, number: number, result { () throws(BusFailure) in try readText("o") })
        case .startClient(_, let use, _, let number):
            return .clientStarted(use, number: number, isError ? failure : nil)
        case .place(_, let use, let number): return .place(use, number: number, isError ? nil : try? readPlace())
        case .modems(let number):
            return .modems(number: number, result { () throws(BusFailure) in try readModems() })
        case .setUp(let path, _, _, let number):
            return .setUp(path: path, number: number, isError ? failure : nil)
        }
    }

    private func readPlace() throws(BusFailure) -> GeoClueReading? {
        let names: Set = ["Latitude", "Longitude", "Accuracy"]
        let numbers = try readProperties(names).compactMapValues { value in
            if case .number(let number) = value { number } else { nil as Double? }
        }
        return GeoClueReading(
            latitude: numbers["Latitude"], longitude: numbers["Longitude"], accuracy: numbers["Accuracy"])
    }

    /// Returns the modems that support location, from a list of all objects (`a{oa{sa{sv}}}`).
    private func readModems() throws(BusFailure) -> [String: ModemReading] {
        var modems: [String: ModemReading] = [:]
        try enter("a", "{oa{sa{sv}}}")
        while try enter("e", "oa{sa{sv}}") {
            let path = try readText("o")
            var (state, reading) = (Int32?.none, ModemReading?.none)
            try enter("a", "{sa{sv}}")
            while try enter("e", "sa{sv}") {
                switch try readText() {
                case LocationBus.modem:
                    if case .integer(let number)? = try readProperties(["State"])["State"] {
                        state = Int32(exactly: number)
                    }
                case LocationBus.modemLocation: reading = try readModem()
                default: try skip("a{sv}")
                }
                try leave()
            }
            reading?.state = state
            modems[path] = reading
            try leave()
            try leave()
        }
        try leave()
        return modems
    }

    /// Returns the location properties of a modem (`a{sv}`).
    fileprivate func readModem() throws(BusFailure) -> ModemReading {
        var reading = ModemReading()
        try enter("a", "{sv}")
        while try enter("e", "sv") {
            switch try readText() {
            case "Capabilities": reading.capabilities = try readFlags()
            case "Enabled": reading.enabled = try readFlags()
            case "SignalsLocation": if case .truth(let signals) = try readVariant() { reading.signals = signals }
            case "Location": reading.cell = try readCell()
            default: try skip("v")
            }
            try leave()
        }
        try leave()
        return reading
    }

    private func readFlags() throws(BusFailure) -> UInt32? {
        guard case .integer(let flags) = try readVariant() else { return nil }
        return UInt32(exactly: flags)
    }

    /// Returns the cell from the reports of all location sources (`v` with `a{uv}`), or an empty text if no report is
    /// about the cell.
    private func readCell() throws(BusFailure) -> String {
        var cell = ""
        try enter("v", "a{uv}")
        try enter("a", "{uv}")
        while try enter("e", "uv") {
            let source = try readFixed("u", UInt32.self)
            if source == ModemReading.cells, case .text(let text) = try readVariant() {
                cell = text
            } else if source != ModemReading.cells {
                try skip("v")
            }
            try leave()
        }
        try leave()
        try leave()
        return cell
    }
}
