import Apps
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NightshiftAPI

extension Routes {
    /// The route, closed to what a process has said to an earlier stream of commands.
    ///
    /// A request may reach a service that was started after it was sent: there a command's number means another command, and the
    /// process has yet to say which background tasks are open.
    func onItsChannel(_ route: Route) -> Route {
        guard route.path != "/v1/process/commands" else { return route }
        var checked = route
        checked.handle = { call in
            if let channel = call.request.headers[.channel] {
                try await apps.requireChannel(channel, process: try call.process())
            }
            return try await route.handle(call)
        }
        return checked
    }
}

extension HTTPField.Name {

    fileprivate static let channel = HTTPField.Name(ProcessHello.channelField)!
}
