import Hummingbird
import NightshiftAPI

extension Routes {
    var deviceRoutes: [Route] {
        [
            Route(.get, "/v1/device") { _ in
                try Reply.json(await device.status()).response
            },
            Route(.patch, "/v1/device") { call in
                let change = try await decoder.decode(DeviceChange.self, from: call.request)
                return try Reply.json(try await device.change(change)).response
            },
            Route(.post, "/v1/device/doze") { call in
                let request = try await decoder.decode(DozeRequest.self, from: call.request)
                return try Reply.json(try await device.request(request.phase)).response
            },
        ]
    }
}
