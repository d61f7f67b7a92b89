import NightshiftAPI

/// The services on the system bus that report locations, by their bus names.
enum LocationBusService: String, Sendable, CaseIterable {
    case geoClue = "org.freedesktop.GeoClue2"
    case modemManager = "org.freedesktop.ModemManager1"
}

/// The purpose of a GeoClue client.
enum GeoClueUse: Sendable, CaseIterable {
    /// One fix.
    case fix
    /// Changes of the location, while an app monitors them.
    case changes
    /// A check whether GeoClue answers: a client is created and deleted.
    case probe
}

/// A request on the bus about locations.
///
/// A request that may be repeated has a number, which distinguishes its answer from a late answer to an earlier
/// request.
enum LocationBusRequest: Hashable, Sendable {
    /// Subscribes to the signals that match a rule (D-Bus specification, "Match Rules").
    case subscribe(String)
    /// Requests the names of the services that the bus can start.
    case activatable
    case owner(LocationBusService)
    /// Creates a client. The bus starts GeoClue if it is not running.
    case createClient(GeoClueUse, number: Int)
    /// Sets the demand of a client, and starts the client.
    case startClient(path: String, GeoClueUse, GeoClueClient.Demand, number: Int)
    case deleteClient(path: String)
    /// Requests the properties of a location.
    case place(path: String, GeoClueUse, number: Int)
    case modems(number: Int)
    case setUp(path: String, sources: UInt32, signals: Bool, number: Int)
}

/// An event from the bus about locations.
enum LocationBusEvent: Equatable, Sendable {
    /// The names of the services that the bus can start; nil if the bus does not report them.
    case activatable(Set<String>?)
    /// A change of the list of services that the bus can start. Older buses do not report this.
    case activatableChanged
    /// The unique name of a service's connection; nil if no process owns the service's name.
    case owner(LocationBusService, String?)
    case clientCreated(GeoClueUse, number: Int, Result<String, BusFailure>)
    /// The result of starting a client; nil if it succeeded.
    case clientStarted(GeoClueUse, number: Int, BusFailure?)
    case updated(client: String, place: String, sender: String)
    case place(GeoClueUse, number: Int, GeoClueReading?)
    case modems(number: Int, Result<[String: ModemReading], BusFailure>)
    case modemChanged(path: String, sender: String, ModemReading)
    /// An addition or removal of modems.
    case modemsChanged(sender: String)
    /// The result of setting a modem up; nil if it succeeded.
    case setUp(path: String, number: Int, BusFailure?)
}

extension LocationBusRequest {
    /// The subscriptions to all signals. They are made before any request, so that no change is missed.
    static var subscriptions: [LocationBusRequest] {
        let owners = LocationBusService.allCases.map { MessageBus.ownerChanged($0.rawValue) }
        let (geoClue, modems) = (LocationBusService.geoClue.rawValue, LocationBusService.modemManager.rawValue)
        return
            (owners + [
                "type='signal',sender='\(MessageBus.daemon)',interface='\(MessageBus.daemon)',"
                    + "member='ActivatableServicesChanged'",
                "type='signal',sender='\(geoClue)',interface='\(geoClue).Client',member='LocationUpdated'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.Properties',"
                    + "member='PropertiesChanged',arg0='\(modems).Modem.Location'",
                // A subscription to the modem's properties would also deliver each change of the signal strength.
                "type='signal',sender='\(modems)',interface='\(modems).Modem',member='StateChanged'",
                "type='signal',sender='\(modems)',interface='org.freedesktop.DBus.ObjectManager'",
            ]).map(LocationBusRequest.subscribe)
    }
}
