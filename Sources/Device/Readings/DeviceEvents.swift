import CNightshift
import Glibc

/// Receives kernel events about devices that are added, removed or changed.
///
/// Used by one thread, which polls ``descriptor``.
final class DeviceEvents {
    let descriptor: Int32

    /// Returns nil if the kernel refuses the socket.
    init?() {
        descriptor = nightshift_device_event_descriptor()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Reads the events. Returns true if one was, or may have been, about a power supply.
    func tellOfPower() -> Bool {
        var isNews = false
        // The kernel's events have at most 2048 bytes, preceded by the device's path.
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count >= 0 {
                    if Self.isAboutPower(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isNews = true }
                } else if errno == ENOBUFS {
                    // Some events were lost.
                    isNews = true
                } else if errno != EINTR {
                    return
                }
            }
        }
        return isNews
    }

    /// An event is `change@/devices/...` followed by assignments, each ended by a zero byte.
    static func isAboutPower(_ event: UnsafeRawBufferPointer) -> Bool {
        event.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
    }
}
