import Hummingbird
import Location
import NightshiftAPI

extension Routes {
    /// The routes for regions and significant changes, used by people. No response contains the location of the device.
    var locationRoutes: [Route] {
        [
            Route(.get, "/v1/location") { _ in
                try Reply.json(try await location.status()).response
            },
            Route(.get, "/v1/location/{id}") { call in
                try Reply.json(try await location.status(of: call.appID())).response
            },
            Route(.patch, "/v1/location/{id}") { call in
                let id = try call.appID()
                let change = try await decoder.decode(AppLocationChange.self, from: call.request)
                return try Reply.json(try await location.change(id, change)).response
            },
            Route(.put, "/v1/location/{id}/regions/{identifier}") { call in
                let id = try call.appID()
                let region = try await region(call)
                try await location.addRegion(region, for: id)
                return try Reply.json(try await location.status(of: id)).response
            },
            Route(.delete, "/v1/location/{id}/regions/{identifier}") { call in
                let id = try call.appID()
                try await location.removeRegion(call.regionIdentifier(), of: id)
                return Reply.empty(.noContent).response
            },
        ]
    }

    /// Returns the region in a request. Its identifier must be the same in the path and in the body.
    func region(_ call: Call) async throws -> MonitoredRegion {
        let identifier = try call.regionIdentifier()
        let region = try await decoder.decode(MonitoredRegion.self, from: call.request)
        guard region.identifier == identifier else {
            throw Problem.invalid("The path and the body name different regions.", pointer: "/identifier")
        }
        return region
    }
}
