import Apps
import HTTPTypes
import Hummingbird
import NightshiftAPI
import Transfers

/// Every operation of the API, each a translation between HTTP and one call of the service.
struct Routes: Sendable {
    let service: TransferService
    let apps: AppService
    let device: DeviceAccess
    /// Begins the stop of the whole service; returns at once.
    let stop: @Sendable () -> Void
    let decoder = RequestDecoder()
    let streams = EventStreams(limit: Limits.eventStreams)
    let processStreams = EventStreams(limit: Limits.processStreams)

    init(service: TransferService, apps: AppService, device: DeviceAccess, stop: @escaping @Sendable () -> Void) {
        self.service = service
        self.apps = apps
        self.device = device
        self.stop = stop
    }

    var all: [Route] {
        serviceRoutes + sessionRoutes + taskRoutes + eventRoutes + appRoutes + deviceRoutes
            + (processRoutes + processSessionRoutes + backgroundTaskRoutes).map(onItsChannel)
    }

    /// The members of a page where the request does not say how many.
    static let defaultLimit: Int64 = 100

    static func limit(_ query: QueryParameters) throws(Problem) -> Int {
        Int(try query.integer("limit", in: 1...Int64(Limits.pageSize)) ?? defaultLimit)
    }
}
