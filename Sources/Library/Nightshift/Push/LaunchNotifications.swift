import Foundation
import NightshiftAPI

/// The notifications that the app was launched for. They are read from a file whose path is in an environment variable.
struct LaunchNotifications {
    private(set) var deliveries: [PushDelivery] = []
    private(set) var responses: [NotificationResponse] = []

    /// Reads the notifications from the file.
    ///
    /// - Parameter environment: The environment. Its variable `NIGHTSHIFT_PAYLOAD` names a file with an array of the
    ///   events that launched the app.
    init(environment: [String: String]) {
        guard let path = environment["NIGHTSHIFT_PAYLOAD"], let data = FileManager.default.contents(atPath: path),
            let payloads = try? JSON.decode([Payload].self, from: data)
        else { return }
        deliveries = payloads.compactMap(\.delivery)
        responses = payloads.compactMap(\.response)
    }

    /// The identifiers with which the service delivers these notifications.
    var identifiers: Set<String> { Set(deliveries.map(\.id) + responses.map(\.notification.identifier)) }

    /// The value of ``Application/LaunchOptionsKey/remoteNotification`` in the launch options.
    var remoteNotification: [AnyHashable: Any]? {
        let json = deliveries.last?.payload ?? responses.last { $0.notification.isRemote }?.notification.userInfo
        return json.map { UserInfo.remote($0) }
    }

    /// One element of the file's array. Elements for other wake sources, such as regions, have other members.
    private struct Payload: Decodable {
        var delivery: PushDelivery?
        var response: NotificationResponse?

        init(from decoder: any Decoder) {
            delivery = try? PushDelivery(from: decoder)
            response = try? NotificationResponse(from: decoder)
        }
    }
}
