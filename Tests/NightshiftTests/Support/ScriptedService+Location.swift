import Foundation
import NightshiftAPI
import TestSupport

/// The part of the service that handles location.
extension ScriptedService {
    struct LocationState: Sendable {
        /// The state of location for the app.
        var known: ProcessLocation = {
            var known = ProcessLocation(permission: .always)
            known.canMonitorRegions = true
            known.canMonitorSignificantChanges = true
            return known
        }()
        /// Whether the app has asked for permission. If so, the service sends the permission on every channel.
        var hasAsked = false
        /// Every permission that the app has requested from the user.
        var asked: [LocationPermission] = []
        /// The identifiers of regions in the order in which they were added (`+home`) and removed (`-home`).
        var changes: [String] = []
        /// The open requests for the location, by number.
        var places: [Int: PlaceStream] = [:]
        var placeRequests = 0
    }

    /// An open request for the location.
    struct PlaceStream: Sendable {
        /// The request's accuracy, its distance, and whether it is for one location, in the form `10.0 0.0 true`.
        var wanted: String
        var stream: SocketServer.Stream
    }

    /// Answers every open request for the location.
    func answer(_ update: LocationUpdate) {
        state.update { state in
            for place in state.location.places.values { place.stream.send(Self.frame("update", id: nil, update)) }
        }
    }

    /// Ends the streams of locations, as when the service ends.
    func endPlaces() {
        state.update { state in
            for place in state.location.places.values { place.stream.end() }
        }
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
            stream.close()
        }
    }

    /// Sets the user's permission and notifies the app.
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
    /// - Parameter number: The number of the command. The wake has the same number if `wake` is nil.
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

    /// Answers a request about location. Returns nil for other requests.
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
