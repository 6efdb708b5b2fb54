//! How much memory this process has used.

/// The most memory that was resident at once, in bytes, where the operating system tells (Linux).
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_peak_is_at_least_what_is_held() {
        let held = vec![1u8; 64 << 20];
        assert!(peak_rss_bytes().unwrap() >= held.iter().map(|&byte| u64::from(byte)).sum());
    }
}
