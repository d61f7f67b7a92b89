import CNightshift
import Glibc

/// A receiver of kernel events about devices that are added, removed or changed.
///
/// Used by one thread, which polls ``descriptor``.
final class DeviceEvents {
    let descriptor: Int32

    /// Returns nil if the kernel does not allow the socket.
    init?() {
        descriptor = nightshift_device_event_descriptor()
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Reads all events. Returns true if an event was about a power supply, or if events were lost.
    func tellOfPower() -> Bool {
        var isNews = false
        // A kernel event has at most 2048 bytes. The path of the device precedes them.
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count >= 0 {
                    if Self.isAboutPower(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isNews = true }
                } else if errno == ENOBUFS {
                    // The kernel has dropped some events.
                    isNews = true
                } else if errno != EINTR {
                    return
                }
            }
        }
        return isNews
    }

    /// Returns whether an event is about a power supply. An event is `change@/devices/...` followed by assignments,
    /// each of which ends with a zero byte.
    static func isAboutPower(_ event: UnsafeRawBufferPointer) -> Bool {
        event.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
    }
}
