import Hummingbird
import NIOCore
import NightshiftAPI
import Transfers

extension Routes {
    var serviceRoutes: [Route] {
        [
            Route(.get, "/v1/status") { _ in
                try Reply.json(try await service.status()).response
            },
            Route(.get, "/v1/settings") { _ in
                try Reply.json(try await service.settings()).response
            },
            Route(.patch, "/v1/settings") { call in
                let change = try await decoder.decode(ServiceSettings.self, from: call.request)
                return try Reply.json(try await service.change(change)).response
            },
            Route(.post, "/v1/shutdown") { _ in
                // Open requests, including this one, receive their responses before the service stops.
                stop()
                return Reply.empty(.accepted).response
            },
            Route(.get, "/v1/openapi.json") { _ in
                Reply.json(bytes: ByteBuffer(bytes: OpenAPI.document)).response
            },
        ]
    }
}
