/// A check whether the default route uses an interface that NetworkManager does not manage.
///
/// NetworkManager reports a machine as disconnected if ifupdown or systemd-networkd has set up its network. A pure
/// value: facts are inputs, the requests to send are outputs.
struct ForeignInterface {
    /// The interface to check.
    private(set) var name: String?
    private(set) var isForeign = false
    /// Whether NetworkManager must be asked again. Its earlier answer remains valid until the new one arrives.
    var isOutOfDate = false
    private var number = 0

    /// The state of an unmanaged device (NM_DEVICE_STATE_UNMANAGED).
    private static let unmanaged: Int64 = 10

    /// Returns the request to send if NetworkManager reports no network although there is a route.
    mutating func check(_ interface: String?, isDisconnected: Bool) -> BusRequest? {
        guard let interface, isDisconnected else {
            forget()
            return nil
        }
        guard interface != name || isOutOfDate else { return nil }
        if interface != name { forget() }
        isOutOfDate = false
        name = interface
        number += 1
        return .device(interface: interface, number: number)
    }

    mutating func found(number: Int, path: String?) -> BusRequest? {
        guard name != nil, number == self.number else { return nil }
        guard let path else {
            isForeign = false
            return nil
        }
        return .deviceState(path: path, number: number)
    }

    mutating func stateAnswered(number: Int, state: Int64?) {
        guard name != nil, number == self.number else { return }
        isForeign = state == Self.unmanaged
    }

    mutating func forget() {
        name = nil
        isForeign = false
    }
}
