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
            Route(process: .get, "/v1/process/location/updates", query: ["accuracy", "distance", "once"]) {
                call, process in
                let range = 0...LocationUpdateRequest.longest
                let wanted = LocationUpdateRequest(
                    accuracy: try call.query.number("accuracy", in: range) ?? 0,
                    distance: try call.query.number("distance", in: range) ?? 0,
                    isOnce: try call.query.boolean("once") ?? false)
                let place = try processStreams.enter()
                let updates = try await operations.locationUpdates(wanted, by: process)
                return try EventStream.response(to: call.request, events: updates, place: place)
            }
        ]
    }

    private var ownLocationRoutes: [Route] {
        [
            Route(process: .get, "/v1/process/location") { call, process in
                let location = try await operations.processLocation(by: process)
                return try Reply.json(location).response
            },
            Route(process: .post, "/v1/process/location/authorization") { call, process in
                let request = try await decoder.decode(LocationAuthorizationRequest.self, from: call.request)
                let location = try await operations.requestLocation(request, by: process)
                return try Reply.json(location).response
            },
        ]
    }

    private var ownRegionRoutes: [Route] {
        [
            Route(process: .put, "/v1/process/location/regions/{identifier}") { call, process in
                let region = try await region(call)
                let location = try await operations.addRegion(region, by: process)
                return try Reply.json(location).response
            },
            Route(process: .delete, "/v1/process/location/regions/{identifier}") { call, process in
                try await operations.removeRegion(call.regionIdentifier(), by: process)
                return Reply.empty(.noContent).response
            },
        ]
    }

    private var significantChangeRoutes: [Route] {
        [
            Route(process: .put, "/v1/process/location/significant-changes") { call, process in
                let location = try await operations.setSignificantChanges(
                    true, by: process)
                return try Reply.json(location).response
            },
            Route(process: .delete, "/v1/process/location/significant-changes") { call, process in
                _ = try await operations.setSignificantChanges(false, by: process)
                return Reply.empty(.noContent).response
            },
        ]
    }
}
