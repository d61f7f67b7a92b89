import Apps
import HTTPTypes
import Hummingbird
import Location
import NightshiftAPI
import Operations
import Push
import Refresh
import Transfers

/// All routes of the API. Each route translates between HTTP and one feature. A request that needs two features uses an
/// operation.
struct Routes: Sendable {
    let operations: Operations
    let service: TransferService
    let apps: AppService
    let refresh: RefreshService
    let location: LocationService
    let push: PushService
    let device: DeviceAccess
    /// A closure that begins to stop the whole service and returns immediately.
    let stop: @Sendable () -> Void
    let decoder = RequestDecoder()
    let streams = EventStreams(limit: Limits.eventStreams)
    let processStreams = EventStreams(limit: Limits.processStreams)

    init(_ operations: Operations, device: DeviceAccess, stop: @escaping @Sendable () -> Void) {
        self.operations = operations
        service = operations.transfers
        apps = operations.apps
        refresh = operations.refresh
        location = operations.location
        push = operations.push
        self.device = device
        self.stop = stop
    }

    var all: [Route] {
        serviceRoutes + sessionRoutes + taskRoutes + eventRoutes + appRoutes + deviceRoutes
            + processRoutes + processSessionRoutes + backgroundTaskRoutes + refreshRoutes
            + processRefreshRoutes + locationRoutes + processLocationRoutes + pushRoutes + processPushRoutes
    }

    /// The number of elements of a page if the request has no limit.
    static let defaultLimit: Int64 = 100

    static func limit(_ query: QueryParameters) throws(Problem) -> Int {
        Int(try query.integer("limit", in: 1...Int64(Limits.pageSize)) ?? defaultLimit)
    }
}
