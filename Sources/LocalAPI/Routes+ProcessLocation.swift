import Hummingbird
import NightshiftAPI
import Operations

extension Routes {
    /// The routes for the calling app's regions, significant changes, location updates and location permission.
    var processLocationRoutes: [Route] {
        ownLocationRoutes + ownRegionRoutes + significantChangeRoutes + updateRoutes
    }

    /// The route for location updates. It sends them as long as the client reads the stream.
    private var updateRoutes: [Route] {
        [
            Route(.get, "/v1/process/location/updates", query: ["accuracy", "distance", "once"]) { call in
                let process = try call.process()
                let range = 0...LocationUpdateRequest.longest
                let wanted = LocationUpdateRequest(
                    accuracy: try call.query.number("accuracy", in: range) ?? 0,
                    distance: try call.query.number("distance", in: range) ?? 0,
                    isOnce: try call.query.boolean("once") ?? false)
                let place = try processStreams.enter()
                let updates = try await operations.locationUpdates(wanted, process: process, channel: call.channel)
                return try EventStream.response(to: call.request, events: updates, place: place)
            }
        ]
    }

    private var ownLocationRoutes: [Route] {
        [
            Route(.get, "/v1/process/location") { call in
                let location = try await operations.processLocation(process: call.process(), channel: call.channel)
                return try Reply.json(location).response
            },
            Route(.post, "/v1/process/location/authorization") { call in
                let process = try call.process()
                let request = try await decoder.decode(LocationAuthorizationRequest.self, from: call.request)
                let location = try await operations.requestLocation(request, process: process, channel: call.channel)
                return try Reply.json(location).response
            },
        ]
    }

    private var ownRegionRoutes: [Route] {
        [
            Route(.put, "/v1/process/location/regions/{identifier}") { call in
                let process = try call.process()
                let region = try await region(call)
                let location = try await operations.addRegion(region, process: process, channel: call.channel)
                return try Reply.json(location).response
            },
            Route(.delete, "/v1/process/location/regions/{identifier}") { call in
                let process = try call.process()
                try await operations.removeRegion(call.regionIdentifier(), process: process, channel: call.channel)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var significantChangeRoutes: [Route] {
        [
            Route(.put, "/v1/process/location/significant-changes") { call in
                let location = try await operations.setSignificantChanges(
                    true, process: call.process(), channel: call.channel)
                return try Reply.json(location).response
            },
            Route(.delete, "/v1/process/location/significant-changes") { call in
                _ = try await operations.setSignificantChanges(false, process: call.process(), channel: call.channel)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
