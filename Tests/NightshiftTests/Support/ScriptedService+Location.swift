import Foundation
import NightshiftAPI
import TestSupport

/// Location, as the library meets it.
extension ScriptedService {
    struct LocationState: Sendable {
        /// What the app has of location.
        var known: ProcessLocation = {
            var known = ProcessLocation(permission: .always)
            known.canMonitorRegions = true
            known.canMonitorSignificantChanges = true
            return known
        }()
        /// Whether the app has asked for its user's word: it hears of it on every channel.
        var hasAsked = false
        /// Every permission that its user was to be asked for.
        var asked: [LocationPermission] = []
        /// The identifiers of regions as they were added (`+home`) and removed (`-home`).
        var changes: [String] = []
        /// Requests for the place that are open, by number, and how many there were.
        var places: [Int: PlaceStream] = [:]
        var placeRequests = 0
    }

    /// An open request for the place.
    struct PlaceStream: Sendable {
        /// Its accuracy, distance and whether it is for one place, as `10.0 0.0 true`.
        var wanted: String
        var stream: SocketServer.Stream
    }

    /// Answers every request for the place that is open.
    func answer(_ update: LocationUpdate) {
        state.update { state in
            for place in state.location.places.values { place.stream.send(Self.frame("update", id: nil, update)) }
        }
    }

    /// Ends the streams of places, as a service does that goes away.
    func endPlaces() {
        for place in state.read(\.location.places).values { place.stream.end() }
    }

    private func openPlaces(_ query: [String: String]) -> SocketServer.Reply {
        let wanted = ["accuracy", "distance", "once"].compactMap { query[$0] }.joined(separator: " ")
        return .stream { [self] stream in
            let number = state.update { state in
                state.location.placeRequests += 1
                state.location.places[state.location.placeRequests] = PlaceStream(wanted: wanted, stream: stream)
                return state.location.placeRequests
            }
            stream.waitForEnd()
            state.update { $0.location.places[number] = nil }
        }
    }

    /// The user's word, told to the app.
    func allow(_ permission: LocationPermission) {
        state.update { state in
            state.location.known.permission = permission
            state.location.hasAsked = true
            let frame = Self.frame("location", id: nil, LocationNotice(permission: permission))
            for channel in state.channels { channel.send(frame) }
        }
    }

    /// Wakes the app for an event.
    ///
    /// - Parameter number: the command's; the wake has that number too, unless `wake` says another.
    func tell(_ number: Int64, _ event: LocationEvent, wake: Int64? = nil, limit: Double? = nil) {
        var command = ProcessCommand(number: number, action: .handleWake)
        command.source = event.kind == .changed ? .significantChange : .region
        command.key = event.region?.identifier ?? ""
        command.through = wake ?? number
        command.payload = try? JSON.encode(event)
        command.limit = limit
        if let place = event.place { state.update { $0.location.known.place = place } }
        self.command(command)
    }

    /// Nil for what is not about location.
    func location(_ parts: [String], _ request: SocketServer.Request) throws -> SocketServer.Reply? {
        guard parts.starts(with: ["v1", "process", "location"]) else { return nil }
        switch (request.method, parts.dropFirst(3).first) {
        case ("GET", nil): break
        case ("GET", "updates"): return openPlaces(request.query)
        case ("POST", "authorization"):
            let wish = try JSON.decode(LocationAuthorizationRequest.self, from: request.body)
            state.update { $0.location.asked.append(wish.permission) }
        case ("PUT", "regions"):
            let region = try JSON.decode(MonitoredRegion.self, from: request.body)
            state.update { state in
                state.location.changes.append("+\(region.identifier)")
                state.location.known.regions.removeAll { $0.region.identifier == region.identifier }
                state.location.known.regions.append(RegionStatus(region: region, state: .unknown))
            }
        case ("DELETE", "regions"):
            state.update { state in
                let identifier = parts.dropFirst(4).first ?? ""
                state.location.changes.append("-\(identifier)")
                state.location.known.regions.removeAll { $0.region.identifier == identifier }
            }
            return .json(204, Data())
        case ("PUT", "significant-changes"): state.update { $0.location.known.monitorsSignificantChanges = true }
        case ("DELETE", "significant-changes"):
            state.update { $0.location.known.monitorsSignificantChanges = false }
            return .json(204, Data())
        default: throw Problem.notFound(request.path)
        }
        return try Self.json(state.read(\.location.known))
    }
}
